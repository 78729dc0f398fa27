package memory_test

import (
	"testing"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
)

// TestLaws proves, by topic:
//
//	grant, race      R2 mutual exclusion; S1 one atomic step
//	attempt          L1 every acquisition has its own value
//	lease            R2 no deadlock when a holder dies
//	release          L3 compare and delete, three answers; T4, R2 only the owner
//	owner            T2 a count for each owner; T4 decremented, deleted at zero
//	fair, position, clock
//	                 T1 fair locks; T14 a sale in the order of the clicks
//	rw, reader       T1 read and write locks; T14 stock that is read and written
//	permit, latch    T1 the wider family
//	kinds            T1 the kinds do not mix
//	operator, force-release, member
//	                 T13 a leaked lock is found and released
//	claim, fingerprint, takeover, renewal, abandon-claim
//	                 work that must happen once is granted to one caller
//	settle, outcome, unknown, record, watch, ledger
//	                 its outcome is stored and reported
func TestLaws(t *testing.T) {
	enginetest.Run(t, enginetest.Harness{
		Name:    "memory",
		Open:    func(testing.TB) engine.Engine { return memory.New() },
		Virtual: true,
	})
}
