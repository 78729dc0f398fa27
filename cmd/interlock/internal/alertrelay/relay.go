// Package alertrelay forwards the notifications of Alertmanager to a DingTalk robot.
//
// The relay answers a notification after DingTalk has accepted it. If DingTalk refuses it
// or is down, the answer is an error, and Alertmanager sends the notification again. The
// relay therefore stores nothing.
package alertrelay

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
)

const (
	maxBody    = 1 << 20          // bytes of a notification
	maxPending = 200              // notifications that wait for the rate limit
	drainLimit = 10 * time.Second // for pending notifications at shutdown
)

// Options configure [New].
type Options struct {
	Webhook string // the robot's address, with its access token
	Secret  string // signs each message; empty: the robot has no signature
	Lang    i18n.Language
	Log     *slog.Logger

	Transport http.RoundTripper // nil: the default of net/http
}

// A Relay is an HTTP handler. It sends messages while [Relay.Run] or [Relay.Send] runs.
type Relay struct {
	robot robot
	lang  i18n.Language
	log   *slog.Logger

	mu      sync.Mutex
	pending []*notification
	ready   chan struct{} // holds a value if pending may have changed
}

// A notification waits for its delivery.
type notification struct {
	payload
	ctx  context.Context // of its request
	done chan error      // buffered: the request may be gone
}

// New returns a relay. It fails if the address of the robot is invalid.
func New(o Options) (*Relay, error) {
	r := &Relay{lang: o.Lang, log: o.Log, ready: make(chan struct{}, 1)}
	return r, r.robot.init(o)
}

// Run serves a listener until ctx is done. Then it delivers the pending notifications.
func (r *Relay) Run(ctx context.Context, l net.Listener) error {
	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	sent := make(chan struct{})
	go func() { // until stop
		defer close(sent)
		r.Send(sending)
	}()
	server := &http.Server{
		Handler: r, ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(r.log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }() // until Close
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainLimit)
		if server.Shutdown(draining) != nil {
			r.log.Warn("some notifications were not delivered; Alertmanager sends them again")
		}
		cancel()
	}
	_ = server.Close()
	stop()
	<-sent
	return err
}

// ServeHTTP accepts the webhook of Alertmanager, and health checks.
func (r *Relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch {
	case req.URL.Path == "/healthz" && (req.Method == http.MethodGet || req.Method == http.MethodHead):
		_, _ = io.WriteString(w, "ok\n")
	case req.URL.Path == "/healthz":
		http.Error(w, "use GET", http.StatusMethodNotAllowed)
	case req.URL.Path != "/dingtalk":
		http.NotFound(w, req)
	case req.Method != http.MethodPost:
		http.Error(w, "use POST", http.StatusMethodNotAllowed)
	default:
		r.receive(w, req)
	}
}

// receive delivers a notification. Alertmanager repeats a notification after a status of
// 500 or more, and drops it after one of 400.
func (r *Relay) receive(w http.ResponseWriter, req *http.Request) {
	n := &notification{ctx: req.Context(), done: make(chan error, 1)}
	err := json.NewDecoder(http.MaxBytesReader(w, req.Body, maxBody)).Decode(&n.payload)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		http.Error(w, "the notification has more than 1 MiB", http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		http.Error(w, "this is not a notification of Alertmanager", http.StatusBadRequest)
		return
	}
	if len(n.Alerts) == 0 {
		return // there is nothing to say
	}
	if !r.enqueue(n) {
		http.Error(w, "too many notifications are pending", http.StatusServiceUnavailable)
		return
	}
	select {
	case err := <-n.done:
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
	case <-req.Context().Done(): // Alertmanager gave up; take drops the notification
	}
}

// enqueue appends a notification, unless too many are pending.
func (r *Relay) enqueue(n *notification) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) >= maxPending {
		return false
	}
	r.pending = append(r.pending, n)
	select {
	case r.ready <- struct{}{}:
	default:
	}
	return true
}

// take returns all pending notifications whose sender still waits.
func (r *Relay) take() []*notification {
	r.mu.Lock()
	defer r.mu.Unlock()
	var taken []*notification
	for _, n := range r.pending {
		if n.ctx.Err() == nil {
			taken = append(taken, n)
		}
	}
	r.pending = nil
	return taken
}

// Send delivers notifications until ctx is done. While the rate limit forbids a message,
// notifications wait, and the next message contains them all.
func (r *Relay) Send(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.ready:
		}
		if r.robot.limit.wait(ctx) != nil {
			return
		}
		batch := r.take()
		if len(batch) == 0 {
			continue
		}
		var all []payload
		for _, n := range batch {
			all = append(all, n.payload)
		}
		err := r.robot.post(ctx, compose(r.lang, all))
		if err != nil {
			r.log.Error("DingTalk did not accept a message", "notifications", len(batch), "err", err)
		} else {
			r.log.Info("sent", "notifications", len(batch))
		}
		for _, n := range batch {
			n.done <- err
		}
	}
}
