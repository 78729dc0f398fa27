package cli

import (
	"context"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
)

// The key of exec is the user's text, so the counters do not contain it.
func TestTheLockOfACommandCountsUnderItsName(t *testing.T) {
	for _, kind := range kinds {
		client := interlock.New(nil)
		f := lockFlags{name: "exec", kind: kind, wait: time.Second}
		if err := f.locker(client, "nightly-report").Do(t.Context(), func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
		for _, s := range client.LockStats() { // an RWMutex counts under two kinds
			if s.Name != "exec" {
				t.Errorf("--kind %s: the counters have the name %q, want exec", kind, s.Name)
			}
		}
		if n := client.Stats().Acquired; n != 1 {
			t.Errorf("--kind %s: %d locks were counted, want 1", kind, n)
		}
	}
}
