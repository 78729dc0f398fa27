package gateway_test

import (
	"net/http"
	"testing"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/rule"
)

func TestStats(t *testing.T) {
	more := on("POST /returns", rule.Once, "{header.Idempotency-Key}", guard.Policy{Name: "order"})
	s := open(t, withRules(orders(), more, on("POST /locked", rule.Lock, "k", guard.Policy{})), nil)
	for range 2 {
		s.send(http.MethodPost, "/orders", "{}", key("order-key-1"))
		s.send(http.MethodPost, "/returns", "{}", key("return-key-1"))
	}
	all := s.gateway.Stats()
	got := all["order"]
	if len(all) != 1 || got.Asked < 2 || got.Verdicts[guard.Granted] != 2 || got.Verdicts[guard.Replayed] != 2 {
		t.Errorf("the counters of two rules with one name and two requests each are %+v, want them added up", all)
	}
}
