package torture

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// A shopServer is a process with an HTTP server whose orders are guarded.
type shopServer struct {
	job    job
	orders atomic.Int64  // handled by this process
	gate   chan struct{} // slow orders wait until it is closed
}

// A shopEvent is a journal entry of a shopServer.
type shopEvent struct {
	Process string
	Did     string
	Addr    string // of the listener
	Key     string // of the order
	Body    string
	Ended   bool // the handler's context ended before the handler
	At      time.Time
}

// The events of a shopServer.
const (
	listening      = "listening"
	handlerStarted = "handler started"
	handlerDone    = "handler done"
)

// runShopServer serves guarded orders until SIGTERM or the end of its input, which ends
// with the test process. A line of input opens the gate.
func runShopServer(j job, c *interlock.Client) error {
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	s := &shopServer{job: j, gate: make(chan struct{})}
	go func() { // ends with the input
		defer cancel()
		input := bufio.NewScanner(os.Stdin)
		if input.Scan() {
			close(s.gate)
		}
		for input.Scan() { // wait for the end
		}
	}()
	log, err := os.OpenFile(logPath(j), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	logged := interlockhttp.Guarding(guard.WithTrace(guard.Log(slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})))))
	orders, err := interlockhttp.Once(c, j.Policy, interlockhttp.User(userFromHeader), logged)
	if err != nil {
		return err
	}
	clicks, err := interlockhttp.Submit(c, guard.Click("clicks"), interlockhttp.User(userFromHeader), logged)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("POST /orders", orders.Wrap(http.HandlerFunc(s.handleOrder)))
	mux.Handle("POST /clicks", clicks.Wrap(http.HandlerFunc(s.handleOrder)))
	mux.Handle("POST /plain", http.HandlerFunc(s.handleOrder)) // without a guard, to measure its cost
	return s.serve(stop, mux, orders.Close, clicks.Close, c.Close)
}

// logPath returns the file of a process's warnings and errors.
func logPath(j job) string { return fmt.Sprintf("%s.%s.log", j.Journal, j.Process) }

// userFromHeader returns the user that the authenticating proxy has set.
func userFromHeader(r *http.Request) string { return r.Header.Get("X-User") }

// serve serves until stop is done. Then it finishes pending requests and calls the
// closers in order.
func (s *shopServer) serve(stop context.Context, handler http.Handler, closers ...func(context.Context) error) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       20 * time.Second,
		WriteTimeout:      2 * time.Minute, // longer than the slowest order waits
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	serveErr := make(chan error, 1)
	go func() { serveErr <- server.Serve(l) }() // until Shutdown
	if err := s.record(shopEvent{Did: listening, Addr: l.Addr().String()}); err != nil {
		return err
	}
	select {
	case err := <-serveErr:
		return err
	case <-stop.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	err = server.Shutdown(ctx)
	for _, c := range closers {
		err = errors.Join(err, c(ctx))
	}
	return err
}

// handleOrder is the handler. Each run sends a different response, so that a replay
// differs from a second run.
func (s *shopServer) handleOrder(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	id := fmt.Sprint(s.job.Process, "-", s.orders.Add(1))
	order := shopEvent{Did: handlerStarted, Key: r.Header.Get("Idempotency-Key"), Body: string(body)}
	err = s.record(order)
	switch {
	case r.Header.Get("X-Panic") != "":
		panic(http.ErrAbortHandler) // the server does not log it
	case r.Header.Get("X-Slow") != "":
		select { // not the context: the handler ignores its cancellation
		case <-s.gate:
		case <-time.After(time.Minute):
		}
		order.Did, order.Ended = handlerDone, r.Context().Err() != nil
		err = errors.Join(err, s.record(order))
	default:
		time.Sleep(s.job.Pause) // the work
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Location", "/orders/"+id)
	h.Set("Content-Type", "application/octet-stream")
	h["X-Note"] = []string{"first " + id, "second"}
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, "order %s of %s\x00\xff\r\n", id, body) // arbitrary bytes, not text
}

func (s *shopServer) record(e shopEvent) error {
	e.Process, e.At = s.job.Process, time.Now()
	return appendEntry(s.job.Journal, e)
}
