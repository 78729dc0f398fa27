// Package shop is a shop as they are often written: every handler looks first
// and acts then, and somebody else may have acted in between. It is broken on
// purpose, and only when several people use it at once. Behind Interlock the
// same handlers do what they should.
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

// Pause is how long a handler takes between looking and acting: about what a
// database and a payment provider take.
const Pause = 80 * time.Millisecond

// A Shop is its handlers and what they did. Everything is in memory.
type Shop struct {
	mux *http.ServeMux

	// mu keeps the maps whole, and nothing more: no handler holds it from its look
	// to its act. That is what is wrong with them.
	mu    sync.Mutex
	state State
}

// New returns a shop in which nothing has happened yet.
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
	s.mux.HandleFunc("GET /state", s.tell)
	s.mux.HandleFunc("POST /reset", s.reset)
	s.seeds()
	return s
}

// ServeHTTP implements [http.Handler].
func (s *Shop) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// most is how much a shop remembers. It is a demonstration, and must not grow
// for as long as somebody plays with it.
const most = 20_000

// change looks at the state, or changes it, in one step.
func (s *Shop) change(do func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.size() > most {
		s.state = empty()
	}
	do(&s.state)
}

// work takes its time, and reports whether anybody still waits for it.
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

// read reads a small JSON object, and says so if it is none.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(into)
	if err != nil && !errors.Is(err, io.EOF) { // nothing at all means nothing was said
		answer(w, http.StatusBadRequest, map[string]any{"error": fmt.Sprintf("this is no JSON object: %v", err)})
		return false
	}
	return true
}

// answer writes JSON.
func answer(w http.ResponseWriter, status int, what any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(what) // who hung up does not want to know
}
