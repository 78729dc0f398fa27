package quorum_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/quorum"
)

// TestMajorityDown requests a lock from many goroutines of one process while a majority of
// the nodes is down.
func TestMajorityDown(t *testing.T) {
	for name, fail := range map[string]func(*server){"down": (*server).die, "hanging": (*server).hang} {
		bubble(t, "with two of three nodes "+name+" no error says that the lock is held", func(t *testing.T) {
			all, nodes := servers(3)
			client := interlock.New(newQuorum(t, nodes, quorum.Durable()))
			fail(all[0])
			fail(all[1])
			lock := client.Mutex("k", interlock.Wait(500*time.Millisecond))
			var callers sync.WaitGroup
			for range 20 {
				callers.Go(func() {
					_, _, err := lock.Lock(t.Context())
					if !errors.Is(err, interlock.ErrUnavailable) && !errors.Is(err, interlock.ErrOutcomeUnknown) || errors.Is(err, interlock.ErrContended) {
						t.Errorf("Lock: err = %v, want ErrUnavailable or ErrOutcomeUnknown", err)
					}
				})
			}
			callers.Wait()
			all[0].Heal()
			all[1].Heal()
			if err := client.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
