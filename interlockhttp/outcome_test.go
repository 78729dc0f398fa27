package interlockhttp_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// The results of a repeat.
const (
	replays = "is replayed"
	runs    = "runs"
	held    = "gets outcome_unknown"
)

// numbered returns a handler that answers with the status in X-Status and the outcome in
// X-Outcome of the request, and numbers its responses.
func numbered(s **shop) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		status, err := strconv.Atoi(r.Header.Get("X-Status"))
		if err != nil {
			panic(err)
		}
		if outcome := r.Header["X-Outcome"]; outcome != nil {
			w.Header()["Interlock-Outcome"] = outcome
		}
		w.WriteHeader(status)
		fmt.Fprint(w, (*s).runs.Add(1))
	}
}

// repeat sends a request twice, and returns the result of the second one.
func (s *shop) repeat(key string, edits ...edit) string {
	s.t.Helper()
	first, again := s.serve(key, "x", edits...), s.serve(key, "x", edits...)
	for _, a := range []response{first, again} {
		if _, found := a.header["Interlock-Outcome"]; found {
			s.t.Errorf("%s: the client sees the outcome: %v", key, a.header)
		}
	}
	switch {
	case again.status == first.status && again.body == first.body && again.header.Get("Idempotent-Replayed") == "true":
		return replays
	case again.status == first.status && again.body != first.body:
		return runs
	}
	again.problem(409, interlockhttp.OutcomeUnknown)
	return held
}

func TestAStatusImpliesAnOutcome(t *testing.T) {
	for name, c := range map[string]struct {
		policy guard.Policy
		opts   []interlockhttp.Option
		want   map[int]string
	}{
		"by default a complete 5xx is replayed, and 429 and 503 free the key": {want: map[int]string{
			200: replays, 201: replays, 400: runs, 402: runs, 429: runs, 500: replays, 501: replays, 503: runs, 507: replays,
		}},
		"a proxy that got no answer leaves the outcome unknown": {want: map[int]string{502: held, 504: held}},
		"a canceled call leaves the outcome unknown":            {policy: guard.Policy{OnError: guard.Keep}, want: map[int]string{499: held}},
		"a redirect is not replayed, because it may lead to a login page": {want: map[int]string{
			301: held, 302: held, 303: held, 307: runs, 308: runs,
		}},
		"with KeepRedirects a redirect is replayed": {opts: []interlockhttp.Option{interlockhttp.KeepRedirects()}, want: map[int]string{
			301: replays, 302: replays, 303: replays, 307: replays, 308: replays,
		}},
		"with NotExecutedOn the listed statuses free the key as well": {
			policy: guard.Policy{OnError: guard.Keep}, opts: []interlockhttp.Option{interlockhttp.NotExecutedOn(302, 409, 500, 502)},
			want: map[int]string{302: runs, 303: held, 402: replays, 409: runs, 429: runs, 500: runs, 501: replays, 502: runs, 503: runs, 504: held},
		},
		"with Rerun a 5xx runs again": {policy: guard.Policy{OnUnknown: guard.Rerun}, want: map[int]string{
			200: replays, 302: runs, 500: runs, 502: runs, 503: runs,
		}},
		"with OnError Keep a 4xx is replayed": {policy: guard.Policy{OnError: guard.Keep}, want: map[int]string{402: replays, 429: runs, 503: runs}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, tee := range []bool{false, true} {
				opts := c.opts
				if tee {
					opts = append(slices.Clip(opts), interlockhttp.Tee())
				}
				var s *shop
				s = open(t, c.policy, numbered(&s), opts...)
				for status, want := range c.want {
					if got := s.repeat(fmt.Sprint("k-", status), with("X-Status", strconv.Itoa(status))); got != want {
						t.Errorf("after %d a repeat %s, want %s (tee: %v)", status, got, want, tee)
					}
				}
			}
		})
	}
}

func TestAHandlerStatesItsOutcome(t *testing.T) {
	for name, c := range map[string]struct {
		policy  guard.Policy
		status  int
		outcome []string
		want    string
	}{
		"done keeps a 5xx":                            {status: 502, outcome: []string{"done"}, want: replays},
		"done keeps a redirect":                       {status: 302, outcome: []string{"done"}, want: replays},
		"failed frees the key":                        {status: 500, outcome: []string{"failed"}, want: runs},
		"failed keeps the response with OnError Keep": {policy: guard.Policy{OnError: guard.Keep}, status: 500, outcome: []string{"failed"}, want: replays},
		"not-executed frees the key":                  {status: 500, outcome: []string{"not-executed"}, want: runs},
		"not-executed wins over a 200":                {status: 200, outcome: []string{"Not-Executed "}, want: runs},
		"unknown holds a 200":                         {status: 200, outcome: []string{"unknown"}, want: held},
		"an unknown word is an unknown outcome":       {status: 200, outcome: []string{"succeeded"}, want: held},
		"two words are an unknown outcome":            {status: 200, outcome: []string{"done", "failed"}, want: held},
		"without the header the status decides":       {status: 200, want: replays},
	} {
		t.Run(name, func(t *testing.T) {
			for _, opts := range [][]interlockhttp.Option{nil, {interlockhttp.Tee()}} {
				var s *shop
				s = open(t, c.policy, numbered(&s), opts...)
				if got := s.repeat("k-1", with("X-Status", strconv.Itoa(c.status)), with("X-Outcome", c.outcome...)); got != c.want {
					t.Errorf("a repeat %s, want %s", got, c.want)
				}
			}
		})
	}
}
