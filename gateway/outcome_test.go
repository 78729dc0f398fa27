package gateway_test

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/interlockhttp"
)

// parseRule returns the configuration of a file with one rule for POST /orders.
func parseRule(t *testing.T, options ...string) *config.Config {
	t.Helper()
	cfg, errs := config.Parse("interlock.yaml", []byte("to: http://127.0.0.1:1\nengine: memory\ntrusted-proxies: [127.0.0.0/8]\n"+
		"principal: {header: X-User}\nrules:\n  - match: POST /orders\n    once: order:{header.Idempotency-Key}\n    "+strings.Join(options, "\n    ")))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	cfg.Upstream.To = nil // open sets the upstream
	return cfg
}

// With the default policy of the gateway, a client that retries with the same key, as the
// clients of Stripe do, does not charge twice.
func TestTheDefaultsDoNotChargeTwice(t *testing.T) {
	reset := func(w http.ResponseWriter) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
	for name, c := range map[string]struct {
		options []string
		fail    func(http.ResponseWriter) // answers the first charge
		charges int64
		again   int // the status of the retry
		code    interlockhttp.Code
		outcome string // the outcome of the first event
	}{
		"the bank answers 500":             {fail: func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) }, charges: 1, again: 500, outcome: "ran"},
		"the bank resets the connection":   {fail: reset, charges: 1, again: 409, code: interlockhttp.OutcomeUnknown, outcome: "unknown"},
		"a proxy of the bank answers 502":  {fail: func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }, charges: 1, again: 409, code: interlockhttp.OutcomeUnknown, outcome: "unknown"},
		"the bank answers 503":             {fail: func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }, charges: 2, again: 201, outcome: "failed"},
		"the bank answers 429":             {fail: func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) }, charges: 2, again: 201, outcome: "ran"},
		"the bank redirects to a login":    {fail: func(w http.ResponseWriter) { w.WriteHeader(http.StatusFound) }, charges: 1, again: 409, code: interlockhttp.OutcomeUnknown, outcome: "unknown"},
		"the rule keeps redirects":         {options: []string{"keep-redirects: true"}, fail: func(w http.ResponseWriter) { w.WriteHeader(http.StatusFound) }, charges: 1, again: 302, outcome: "ran"},
		"the rule lists 500":               {options: []string{"not-executed: [500, 502]"}, fail: func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) }, charges: 2, again: 201, outcome: "failed"},
		"the rule says rerun, after a 500": {options: []string{"on-unknown: rerun"}, fail: func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) }, charges: 2, again: 201, outcome: "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			var charges atomic.Int64
			s := open(t, parseRule(t, c.options...), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if charges.Add(1) == 1 {
					c.fail(w)
					return
				}
				w.WriteHeader(http.StatusCreated)
			}))
			s.send("POST", "/orders", "700", key("k-1"))
			if e := s.event(); e.Outcome != c.outcome {
				t.Errorf("the event is %+v, want %s", e, c.outcome)
			}
			got := s.send("POST", "/orders", "700", key("k-1"))
			if got.StatusCode != c.again || got.code() != c.code {
				t.Errorf("the retry got %v, want %d %s", got, c.again, c.code)
			}
			if n := charges.Load(); n != c.charges {
				t.Errorf("the bank was charged %d times, want %d", n, c.charges)
			}
		})
	}
}

// An upstream states its outcome in the field Interlock-Outcome, which clients do not see.
func TestAnUpstreamStatesItsOutcome(t *testing.T) {
	for _, c := range []struct {
		outcome string // the value of Interlock-Outcome
		status  int
		runs    int64
		again   int // the status of a repeat
	}{
		{"done", 502, 1, 502},
		{"failed", 500, 2, 500},
		{"not-executed", 200, 2, 200},
		{"unknown", 200, 1, 409},
		{"doone", 200, 1, 409},
	} {
		t.Run(c.outcome+" with "+strconv.Itoa(c.status), func(t *testing.T) {
			var runs atomic.Int64
			s := open(t, parseRule(t), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Interlock-Outcome", c.outcome)
				w.WriteHeader(c.status)
				fmt.Fprint(w, runs.Add(1))
			}))
			first, again := s.send("POST", "/orders", "x", key("k-1")), s.send("POST", "/orders", "x", key("k-1"))
			if first.StatusCode != c.status || again.StatusCode != c.again || runs.Load() != c.runs {
				t.Errorf("the first got %v, the repeat %v after %d runs; want %d, %d, %d", first, again, runs.Load(), c.status, c.again, c.runs)
			}
			for _, got := range []answer{first, again, s.send("GET", "/orders", "")} {
				if got.Header.Get("Interlock-Outcome") != "" {
					t.Errorf("a client sees the outcome: %v", got.Header)
				}
			}
		})
	}
}
