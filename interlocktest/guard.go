package interlocktest

import (
	"context"

	"github.com/interlock-go/interlock/guard"
)

// Guard returns a guard in w, as another process would have it, and fails the test
// if its policy cannot be meant. It is closed when the test ends; work that is not
// settled then is an error of the test.
func Guard[T any](w *World, p guard.Policy, opts ...guard.Option) *guard.Guard[T] {
	w.t.Helper()
	g, err := guard.New[T](w.Client(), p, opts...)
	if err != nil {
		w.t.Fatalf("interlocktest: %v", err)
	}
	w.t.Cleanup(func() {
		w.faulty.Heal()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := g.Close(ctx); err != nil {
			w.t.Errorf("interlocktest: at the end of the test: %v", err)
		}
	})
	return g
}
