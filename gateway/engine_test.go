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

// While the engine is down, a request runs unguarded only if its rule allows that
// (requirement P7), and the response says so. When the engine is back, requests are guarded
// again. The service does not change for that (requirement P8).
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
					t.Errorf("%s: the response is %v, want %d", when, got, c.status)
				}
				if unguarded := got.Header.Get("Interlock-Unguarded") != ""; unguarded != (c.event == "unguarded") {
					t.Errorf("%s: the response has Interlock-Unguarded: %v, want %v", when, unguarded, !unguarded)
				}
				if local := got.Header.Get("Interlock-Local") != ""; local != (c.event == "local") {
					t.Errorf("%s: the response has Interlock-Local: %v, want %v", when, local, !local)
				}
				if e := s.event(); e.Outcome != c.event {
					t.Errorf("%s: the event is %+v, want the outcome %s", when, e, c.event)
				}
				if got := s.send("GET", "/free", ""); got.StatusCode != http.StatusCreated {
					t.Errorf("%s: an unguarded path gets %v, want 201", when, got)
				}
				w.Heal()
				if got := s.sendUntilGuarded("b-" + when[:2]); got.StatusCode != http.StatusCreated || got.Header.Get("Interlock-Unguarded") != "" {
					t.Errorf("after the engine is back, a request gets %v, want 201 and guarded", got)
				}
				w.Fail()
			}
			w.Heal()
		})
	}
}

// sendUntilGuarded sends requests until one is guarded. After its engine was down, a guard
// does not try the engine for every request.
func (s *site) sendUntilGuarded(k string) (got answer) {
	for n, until := 0, time.Now().Add(10*time.Second); time.Now().Before(until); n++ {
		got = s.send("POST", "/orders", "x", key(fmt.Sprint(k, n)))
		s.event()
		if got.StatusCode == http.StatusCreated && got.Header.Get("Interlock-Unguarded")+got.Header.Get("Interlock-Local") == "" {
			break
		}
	}
	return got
}
