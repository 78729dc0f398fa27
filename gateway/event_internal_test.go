package gateway

import (
	"net/http"
	"testing"
	"time"

	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/rule"
)

// A request waited only if its rule waits for locks. On a busy machine, rules that never wait
// take as long.
func TestOnlyRulesThatWaitReportAWait(t *testing.T) {
	slow, quick := waitThreshold, waitThreshold-1
	for name, c := range map[string]struct {
		rule config.Rule
		took time.Duration
		want string
	}{
		"a lock, at once":      {config.Rule{Do: rule.Rule{Verb: rule.Lock}}, quick, "ran"},
		"a lock, late":         {config.Rule{Do: rule.Rule{Verb: rule.Lock}}, slow, "waited"},
		"a lock that may wait": {config.Rule{Do: rule.Rule{Verb: rule.Lock, Wait: time.Second}}, slow, "waited"},
		"one attempt":          {config.Rule{Do: rule.Rule{Verb: rule.Lock, Wait: rule.Try}}, slow, "ran"},
		"a lock in shadow":     {config.Rule{Do: rule.Rule{Verb: rule.Lock}, Shadow: true}, slow, "ran"},
		"a guard":              {config.Rule{Do: rule.Rule{Verb: rule.Once}}, slow, "ran"},
		"a limit":              {config.Rule{Do: rule.Rule{Verb: rule.Limit}}, slow, "ran"},
	} {
		x := &exchange{}
		x.response.status = http.StatusCreated
		began := time.Now()
		s := &ruleStep{exchange: x, rule: &ruleHandler{Rule: c.rule, middleware: &middleware{}}, began: began, ran: began.Add(c.took)}
		if got := s.outcome(http.Header{}); got != c.want {
			t.Errorf("%s: the outcome is %s, want %s", name, got, c.want)
		}
	}
}
