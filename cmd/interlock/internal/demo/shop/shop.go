// Package shop is a web shop with races. Every handler checks first and acts later, so
// that concurrent requests pass the same check. Behind Interlock the same handlers work
// correctly.
package shop

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// Pause is the time between check and act, similar to a call of a database or a payment
// provider.
const Pause = 80 * time.Millisecond

// A Shop serves the handlers. Its state is in memory.
type Shop struct {
	mux *http.ServeMux

	// mu only protects the maps. No handler holds it from its check to its act; that is
	// the race.
	mu    sync.Mutex
	state State
}

// New returns an empty shop.
func New() *Shop {
	s := &Shop{mux: http.NewServeMux(), state: empty()}
	s.mux.HandleFunc("POST /orders", s.order)
	s.mux.HandleFunc("POST /orders/{id}/pay", s.pay)
	s.mux.HandleFunc("POST /orders/{id}/cancel", s.cancel)
	s.mux.HandleFunc("POST /payments", s.charge)
	s.mux.HandleFunc("POST /imports", s.load)
	s.mux.HandleFunc("POST /users", s.register)
	s.mux.HandleFunc("POST /sale/{sku}", s.buy)
	s.mux.HandleFunc("POST /stock/{sku}/take", s.take)
	s.mux.HandleFunc("POST /stock/{sku}/move", s.move)
	s.mux.HandleFunc("GET /stock/{sku}", s.count)
	s.mux.HandleFunc("POST /accounts/{id}/deduct", s.deduct)
	s.mux.HandleFunc("POST /desks/{id}", s.serve)
	s.mux.HandleFunc("GET /state", s.stateHandler)
	s.mux.HandleFunc("POST /reset", s.reset)
	s.testEndpoints()
	return s
}

// ServeHTTP implements [http.Handler].
func (s *Shop) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// maxEntries limits the state, so that a long demo does not use ever more memory.
const maxEntries = 20_000

// change reads or modifies the state atomically. It clears a full state first.
func (s *Shop) change(do func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.size() > maxEntries {
		s.state = empty()
	}
	do(&s.state)
}

// work waits for d, and reports whether the client is still connected. A handler whose
// client is gone must not act.
func work(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// read parses a small JSON object. It answers invalid JSON with 400.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(into)
	if err != nil && !errors.Is(err, io.EOF) { // an empty body is allowed
		answer(w, http.StatusBadRequest, map[string]any{"error": fmt.Sprintf("the body is not a JSON object: %v", err)})
		return false
	}
	return true
}

// answer writes a JSON response.
func answer(w http.ResponseWriter, status int, what any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(what) // the client may have disconnected
}
