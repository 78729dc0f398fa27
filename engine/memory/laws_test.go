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
//	attempt          L1 acquisitions are told apart by their values
//	lease            R2 no deadlock when a holder dies
//	release          L3 compare and delete, three answers; T4, R2 only the owner
//	owner            T2 a count for each owner; T4 decremented, deleted at zero
//	fair, place, clock
//	                 T1 fair locks; T14 a sale in the order of the clicks
//	rw, reader       T1 read and write locks; T14 stock that is read and written
//	permit, latch    T1 the wider family
//	meet             T1 the kinds do not mix
//	operator, seize, member
//	                 T13 a leaked lock is found and taken away
//	claim, fingerprint, take, renewal, disclaim
//	                 work that is to happen once is granted to one
//	settle, outcome, unknown, record, watch, ledger
//	                 what became of it is kept, and told
func TestLaws(t *testing.T) {
	enginetest.Run(t, enginetest.Harness{
		Name:    "memory",
		Open:    func(testing.TB) engine.Engine { return memory.New() },
		Virtual: true,
	})
}
