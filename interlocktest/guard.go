package interlocktest

import (
	"context"

	"github.com/interlock-go/interlock/guard"
)

// Guard returns a guard in w, as in a process of its own. It fails the test if the policy
// is invalid. The guard is closed when the test ends; a claim that is not settled by then
// fails the test.
func Guard[T any](w *World, p guard.Policy, opts ...guard.Option) *guard.Guard[T] {
	w.t.Helper()
	g, err := guard.New[T](w.Client(), p, opts...)
	if err != nil {
		w.t.Fatalf("interlocktest: %v", err)
	}
	w.t.Cleanup(func() {
		w.faulty.Heal()
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if err := g.Close(ctx); err != nil {
			w.t.Errorf("interlocktest: at the end of the test: %v", err)
		}
	})
	return g
}
