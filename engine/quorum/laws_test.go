package quorum_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/engine/quorum"
)

// TestLaws proves T11 on healthy nodes: a quorum obeys the engine laws, including R2's
// mutual exclusion.
func TestLaws(t *testing.T) {
	for _, n := range []int{3, 4, 5} {
		t.Run(fmt.Sprint("of ", n), func(t *testing.T) {
			enginetest.Run(t, enginetest.Harness{
				Name: fmt.Sprintf("quorum of %d", n), Virtual: true,
				Open: func(t testing.TB) engine.Engine {
					nodes := memoryNodes(n)
					return clocked{newQuorum(t, nodes, quorum.Durable()), nodes}
				},
			})
		})
	}
	// And on five nodes of which two fail.
	for name, fail := range map[string]func(*server){"down": (*server).die, "hanging": (*server).hang} {
		t.Run("of 5 with two "+name, func(t *testing.T) {
			enginetest.Run(t, enginetest.Harness{
				Name: "quorum of 5 with two " + name, Virtual: true,
				Open: func(t testing.TB) engine.Engine {
					nodes := memoryNodes(5)
					for _, i := range []int{1, 3} {
						s := newServer()
						fail(s)
						nodes[i] = s
						t.Cleanup(s.Heal)
					}
					return newQuorum(t, nodes, quorum.Durable(), quorum.Timeout(10*time.Millisecond))
				},
			})
		})
	}
	// Nodes that are down, slow or restarted, or that disagree.
	t.Run("nodes", func(t *testing.T) {
		t.Run("down", TestMinorityDown)
		t.Run("probation", TestProbation)
		t.Run("timeouts", TestTimeouts)
		t.Run("fences", TestFence)
		t.Run("probe", TestProbe)
		t.Run("contention", TestContention)
		t.Run("split", TestSplitVote)
		t.Run("waking", TestWaking)
		t.Run("waking after outages", TestWakingAfterOutages)
		t.Run("overtaken", TestOvertaken)
	})
}

// clocked is a quorum of nodes whose clocks can be moved.
type clocked struct {
	*quorum.Engine
	nodes []engine.Engine
}

func (c clocked) Step(d time.Duration) {
	for _, n := range c.nodes {
		n.(*memory.Engine).Step(d)
	}
}

// memoryNodes returns embedded engines as nodes.
func memoryNodes(n int) []engine.Engine {
	all := make([]engine.Engine, n)
	for i := range all {
		all[i] = memory.New()
	}
	return all
}

// newQuorum makes a quorum that is closed with the test.
func newQuorum(t testing.TB, nodes []engine.Engine, opts ...quorum.Option) *quorum.Engine {
	t.Helper()
	e, err := quorum.New(nodes, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}
