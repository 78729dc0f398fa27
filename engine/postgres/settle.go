package postgres

import (
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// settleCall returns the call of a settlement; see claimCall.
func (e *Engine) settleCall(x *engine.Settlement, wait int64) *statement {
	result := x.Result
	if result == nil {
		result = []byte{} // nil would be NULL
	}
	return e.call("settle", x.Key, []byte(x.Key), []byte(x.Attempt), int64(x.Outcome), result,
		micros(x.Retain), x.FromStart, x.Abandon, micros(x.Lease), wait)
}

// settleResult returns the outcome of a code of the function settle.
func settleResult(s *statement, code int64) (engine.Outcome, error) {
	if code == codeLocked {
		return 0, lockedError(s)
	}
	return outcomes[code], nil
}

// checkSettlement refuses an invalid settlement.
func checkSettlement(x *engine.Settlement) error {
	why := ""
	switch {
	case x.Key == "":
		why = "has no key: set Key"
	case x.Attempt == "":
		why = "has no attempt: set Attempt"
	case x.Outcome == engine.Running || x.Outcome > engine.Unknown:
		why = "is not possible: set Outcome to Done, Failed, Unknown or Absent"
	case x.Outcome != engine.Absent && x.Retain <= 0:
		why = "has no retention: set Retain above zero"
	case x.Abandon && x.Outcome != engine.Absent:
		why = "abandons the claim, but has an outcome: set Outcome to Absent"
	case x.Abandon && x.Lease <= 0:
		why = "has no lease: set Lease above zero"
	}
	if why != "" {
		return fmt.Errorf("postgres: the settlement of %q as %s %s", x.Key, x.Outcome, why)
	}
	return nil
}
