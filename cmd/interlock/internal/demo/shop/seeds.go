package shop

import (
	"net/http"
	"time"
)

// A Test is an endpoint of the requirements, by its name there (S6): nothing but
// work that takes a while. What it promises is for the rule in front of it.
type Test struct {
	Path   string
	Window time.Duration // as the requirement says; the rule has it
	Work   time.Duration
}

// Tests are these endpoints.
var Tests = []Test{
	{"/lock-release-fast", 10 * time.Second, time.Second},
	{"/lock-release-slow", 5 * time.Second, 3 * time.Second},
	{"/lock-timeout-test", 2 * time.Second, 3 * time.Second},
	{"/concurrent-test", 2 * time.Second, 3 * Pause},
	{"/setnx-test", 3 * time.Second, 3 * Pause},
}

func (s *Shop) seeds() {
	for _, t := range Tests {
		handle := s.test(t)
		if t.Path == "/setnx-test" {
			handle = s.naive(t)
		}
		s.mux.HandleFunc("POST "+t.Path, handle)
	}
}

// test is work that anybody may start, as often as they like.
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

// naive is the same with the check that the requirement warns of (S1): first
// whether the key is there, and then, some time later, set it.
func (s *Shop) naive(t Test) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Order string }
		if !read(w, r, &in) {
			return
		}
		var there bool
		s.change(func(st *State) { there = st.Tests[t.Path+" "+in.Order] > 0 })
		if there {
			answer(w, http.StatusTooManyRequests, map[string]any{"error": "submitted already"})
			return
		}
		if !work(r, t.Work) {
			return
		}
		n := s.ran(t, in.Order)
		answer(w, http.StatusOK, map[string]any{"order": in.Order, "run": n})
	}
}

func (s *Shop) ran(t Test, order string) (n int) {
	s.change(func(st *State) { st.Tests[t.Path+" "+order]++; n = st.Tests[t.Path+" "+order] })
	return n
}
