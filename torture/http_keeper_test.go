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

// A keeper is a process that keeps a shop: an HTTP server with a guard.
type keeper struct {
	job   job
	taken atomic.Int64  // orders, by this process
	gate  chan struct{} // slow orders wait until it is closed
}

// A sale is what a keeper writes down.
type sale struct {
	Process string
	Did     string
	Addr    string // where it listens
	Key     string // of the order
	Body    string
	Ended   bool // the handler's context, before the handler
	At      time.Time
}

// The steps of a keeper.
const (
	opened = "opened"
	taken  = "taken" // the handler has begun
	served = "served"
)

// keepShop serves orders, each once, until a signal or the end of its input: then the
// parent is gone. A line of input opens the gate.
func keepShop(j job, c *interlock.Client) error {
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	k := &keeper{job: j, gate: make(chan struct{})}
	go func() { // ends with the input, which the test closes
		defer cancel()
		input := bufio.NewScanner(os.Stdin)
		if input.Scan() {
			close(k.gate)
		}
		for input.Scan() { // there is nothing more to say
		}
	}()
	log, err := os.OpenFile(logOf(j), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	logged := interlockhttp.Guarding(guard.WithTrace(guard.Log(slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})))))
	orders, err := interlockhttp.Once(c, j.Policy, interlockhttp.User(signedIn), logged)
	if err != nil {
		return err
	}
	clicks, err := interlockhttp.Submit(c, guard.Click("clicks"), interlockhttp.User(signedIn), logged)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("POST /orders", orders.Wrap(http.HandlerFunc(k.take)))
	mux.Handle("POST /clicks", clicks.Wrap(http.HandlerFunc(k.take)))
	mux.Handle("POST /plain", http.HandlerFunc(k.take)) // to see what the guard adds
	return k.serve(stop, mux, orders.Close, clicks.Close, c.Close)
}

// logOf names the file to which a process writes what its operator should look at.
func logOf(j job) string { return fmt.Sprintf("%s.%s.log", j.Journal, j.Process) }

// signedIn trusts the front, which has found out who it is.
func signedIn(r *http.Request) string { return r.Header.Get("X-User") }

// serve serves until stop is done. Then it answers those who are there, and closes
// the rest in the order in which they need each other.
func (k *keeper) serve(stop context.Context, handler http.Handler, closers ...func(context.Context) error) error {
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
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }() // until Shutdown
	if err := k.note(sale{Did: opened, Addr: l.Addr().String()}); err != nil {
		return err
	}
	select {
	case err := <-ended:
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

// take is the handler. Its answers differ from order to order, so that one that is
// given again can be told from one of a second run.
func (k *keeper) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	id := fmt.Sprint(k.job.Process, "-", k.taken.Add(1))
	order := sale{Did: taken, Key: r.Header.Get("Idempotency-Key"), Body: string(body)}
	err = k.note(order)
	switch {
	case r.Header.Get("X-Panic") != "":
		panic(http.ErrAbortHandler) // of which the server makes no fuss
	case r.Header.Get("X-Slow") != "":
		select { // not the context: it is an order that notices nothing
		case <-k.gate:
		case <-time.After(time.Minute):
		}
		order.Did, order.Ended = served, r.Context().Err() != nil
		err = errors.Join(err, k.note(order))
	default:
		time.Sleep(k.job.Pause) // the work
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
	fmt.Fprintf(w, "order %s of %s\x00\xff\r\n", id, body) // bytes, and no text
}

func (k *keeper) note(s sale) error {
	s.Process, s.At = k.job.Process, time.Now()
	return note(k.job.Journal, s)
}
