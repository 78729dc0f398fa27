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
func TestLaws(t *testing.T) {
	enginetest.Run(t, enginetest.Harness{
		Name:    "memory",
		Open:    func(testing.TB) engine.Engine { return memory.New() },
		Virtual: true,
	})
}
