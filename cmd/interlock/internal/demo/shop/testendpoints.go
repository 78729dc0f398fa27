package shop

import (
	"net/http"
	"time"
)

// A Test is a test endpoint, such as /lock-release-fast. It only works for a while; the
// rule in front of it handles duplicates.
type Test struct {
	Path   string
	Window time.Duration // the lease or window of its rule
	Work   time.Duration // how long a request runs
}

// Tests are the test endpoints.
var Tests = []Test{
	{"/lock-release-fast", 10 * time.Second, time.Second},
	{"/lock-release-slow", 5 * time.Second, 3 * time.Second},
	// Longer work than its lease: only renewal keeps the key.
	{"/lock-timeout-test", 2 * time.Second, 3 * time.Second},
	{"/concurrent-test", 2 * time.Second, 3 * Pause},
	{"/setnx-test", 3 * time.Second, 3 * Pause},
}

// testEndpoints adds the test endpoints. Only /setnx-test has a check of its own.
func (s *Shop) testEndpoints() {
	for _, t := range Tests {
		handle := s.test(t)
		if t.Path == "/setnx-test" {
			handle = s.naive(t)
		}
		s.mux.HandleFunc("POST "+t.Path, handle)
	}
}

// test returns a handler without any check.
func (s *Shop) test(t Test) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Order string }
		if !read(w, r, &in) || !work(r, t.Work) {
			return
		}
		n := s.ran(t, in.Order)
		answer(w, http.StatusOK, map[string]any{"order": in.Order, "run": n})
	}
}

// naive returns a handler that checks whether the key exists, and sets it some time
// later. Concurrent requests all pass that check.
func (s *Shop) naive(t Test) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Order string }
		if !read(w, r, &in) {
			return
		}
		var exists bool
		s.change(func(st *State) { exists = st.Tests[t.Path+" "+in.Order] > 0 })
		if exists {
			answer(w, http.StatusTooManyRequests, map[string]any{"error": "already submitted"})
			return
		}
		if !work(r, t.Work) {
			return
		}
		n := s.ran(t, in.Order)
		answer(w, http.StatusOK, map[string]any{"order": in.Order, "run": n})
	}
}

// ran counts a finished request, and returns how many there were.
func (s *Shop) ran(t Test, order string) (n int) {
	s.change(func(st *State) { st.Tests[t.Path+" "+order]++; n = st.Tests[t.Path+" "+order] })
	return n
}
