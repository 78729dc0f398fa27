package gateway_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/interlocktest"
	"github.com/interlock-go/interlock/rule"
)

// While the engine is down, nothing runs unguarded unless the rule allows it, and then the
// response says so. Guards recover with the engine (P7, P8).
func TestAnEngineThatIsDown(t *testing.T) {
	open := orders()
	open.Policy.OnDown = guard.Open
	local := orders()
	local.Policy.OnDown = guard.Local
	lock := on("POST /orders", rule.Lock, "order", guard.Policy{Name: "order"})
	lock.Do.Wait = 100 * time.Millisecond
	for _, c := range []struct {
		name   string
		rule   config.Rule
		status int
		event  string
	}{
		{"closed", orders(), 503, "refused"},
		{"open", open, 201, "unguarded"},
		{"local", local, 201, "local"},
		{"a lock", lock, 503, "refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // a guard retries before it reports the engine as down
			w := interlocktest.New(t)
			w.Fail()
			s := openOn(t, w.Engine(), withRules(c.rule), nil)
			for _, when := range []string{"at the start", "later"} {
				got := s.send("POST", "/orders", "x", key("k-"+when[:2]))
				if got.StatusCode != c.status || c.status == 503 && (got.code() != interlockhttp.StoreUnavailable || got.Header.Get("Retry-After") == "") {
					t.Errorf("%s: got %v", when, got)
				}
				if unguarded := got.Header.Get("Interlock-Unguarded") != ""; unguarded != (c.event == "unguarded") {
					t.Errorf("%s: the response says unguarded: %v", when, unguarded)
				}
				if local := got.Header.Get("Interlock-Local") != ""; local != (c.event == "local") {
					t.Errorf("%s: the response says local: %v", when, local)
				}
				if e := s.event(); e.Outcome != c.event {
					t.Errorf("%s: the event is %+v", when, e)
				}
				if got := s.send("GET", "/free", ""); got.StatusCode != http.StatusCreated {
					t.Errorf("%s: an unguarded path gets %v", when, got)
				}
				w.Heal()
				if got := s.recovered("b-" + when[:2]); got.StatusCode != http.StatusCreated || got.Header.Get("Interlock-Unguarded") != "" {
					t.Errorf("after the engine is back: %v", got)
				}
				w.Fail()
			}
			w.Heal()
		})
	}
}

// recovered sends requests until one is guarded: a guard probes an engine that was down
// only now and then.
func (s *site) recovered(k string) (got answer) {
	for n, until := 0, time.Now().Add(10*time.Second); time.Now().Before(until); n++ {
		got = s.send("POST", "/orders", "x", key(fmt.Sprint(k, n)))
		s.event()
		if got.StatusCode == http.StatusCreated && got.Header.Get("Interlock-Unguarded")+got.Header.Get("Interlock-Local") == "" {
			break
		}
	}
	return got
}
