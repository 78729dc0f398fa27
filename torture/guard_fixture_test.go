package torture

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
)

// A guardFixture is a fixture with two guards. The first connects through the proxy. The
// other acts as another process.
type guardFixture struct {
	*fixture
	policy guard.Policy
	guard  *guard.Guard[string] // through the proxy
	other  *guard.Guard[string] // without the proxy
	runs   atomic.Int64         // how often the work ran
}

// order is the key of the guarded work.
var order = guard.Of("ada", "order-1")

// strictPolicy is the policy of most rows: no work runs unguarded, and unknown outcomes
// are held.
func strictPolicy(lease time.Duration) guard.Policy {
	return guard.Policy{Name: "fault", Lease: lease, OnUnknown: guard.Hold}
}

func newGuardFixture(t *testing.T, policy guard.Policy, args ...string) *guardFixture {
	t.Helper()
	f := &guardFixture{fixture: newFixture(t, args...), policy: policy}
	f.guard = newGuard(t, f.client, policy)
	f.other = newGuard(t, f.fixture.other, policy)
	return f
}

// newGuard returns a guard that is closed before its client.
func newGuard(t *testing.T, c *interlock.Client, policy guard.Policy, opts ...guard.Option) *guard.Guard[string] {
	t.Helper()
	g, err := guard.New[string](c, policy, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = g.Close(ctx)
	})
	return g
}

// work counts its runs and returns the number of the run as its result.
func (f *guardFixture) work(context.Context) (string, error) {
	return fmt.Sprint("result ", f.runs.Add(1)), nil
}

// do calls Do with the work and fails on an error.
func (f *guardFixture) do(g *guard.Guard[string], key guard.Key) string {
	f.t.Helper()
	result, err := g.Do(f.t.Context(), key, f.work)
	if err != nil {
		f.t.Fatalf("Do: %v", err)
	}
	return result
}

// begin claims the order and fails if the claim is not granted. It counts as a run.
func (f *guardFixture) begin(g *guard.Guard[string]) (context.Context, *guard.Claim[string]) {
	f.t.Helper()
	ctx, claim, err := g.Begin(f.t.Context(), order)
	if err != nil {
		f.t.Fatalf("Begin: %v", err)
	}
	if result, ok := claim.Result(); ok {
		f.t.Fatalf("Begin returned the stored result %q", result)
	}
	f.runs.Add(1)
	return ctx, claim
}

// complete settles a claim and fails on an error.
func (f *guardFixture) complete(c *guard.Claim[string]) {
	f.t.Helper()
	if err := c.Complete(fmt.Sprint("result ", f.runs.Load())); err != nil {
		f.t.Fatalf("Complete: %v", err)
	}
}

// warmUp makes a call, so that the engine has loaded its scripts and knows the server's clock.
func (f *guardFixture) warmUp(g *guard.Guard[string]) {
	f.t.Helper()
	_, err := g.Do(f.t.Context(), guard.Of("ada", "first"), func(context.Context) (string, error) { return "warm", nil })
	if err != nil && !errors.Is(err, guard.ErrDuplicate) {
		f.t.Fatalf("Do: %v", err)
	}
}

// wantRuns checks how often the work ran.
func (f *guardFixture) wantRuns(n int64) {
	f.t.Helper()
	if got := f.runs.Load(); got != n {
		f.t.Fatalf("the work ran %d times, want %d", got, n)
	}
}

// wantReplay checks that another process gets the result without a run.
func (f *guardFixture) wantReplay(key guard.Key, want string) {
	f.t.Helper()
	runs := f.runs.Load()
	if got := f.do(f.other, key); got != want {
		f.t.Fatalf("another process got %q, want %q", got, want)
	}
	f.wantRuns(runs)
}

// wantUnknown checks that another process soon gets an unknown outcome and never runs the
// work.
func (f *guardFixture) wantUnknown(within time.Duration) {
	f.t.Helper()
	runs := f.runs.Load()
	f.eventually(within, "the outcome is unknown", func() bool {
		_, err := f.other.Do(f.t.Context(), order, f.work)
		f.wantRuns(runs)
		return errors.Is(err, guard.ErrUnknown)
	})
	f.wantState(engine.Unknown)
}

// wantState checks the state of the order's record.
func (f *guardFixture) wantState(want engine.State) {
	f.t.Helper()
	if s := f.lookup(f.other, order); s.State != want {
		f.t.Fatalf("the order is %v, want %v", s.State, want)
	}
}

func (f *guardFixture) lookup(g *guard.Guard[string], key guard.Key) guard.Status {
	f.t.Helper()
	s, err := g.Lookup(f.t.Context(), key)
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// wantRefused checks that the guard behind the proxy returns the given error and does not
// run the work.
func (f *guardFixture) wantRefused(target error) {
	f.t.Helper()
	runs := f.runs.Load()
	_, err := f.guard.Do(f.t.Context(), order, f.work)
	f.wantErr(err, target)
	f.wantRuns(runs)
}

// records returns the Redis keys of all records.
func (f *guardFixture) records() []string {
	var names []string
	for name := range strings.FieldsSeq(f.server.Must("KEYS", "interlock:guard:*")) {
		if !strings.HasPrefix(name, "interlock:guard:abandoned:") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// wantNoRecord waits until the order has no record.
func (f *guardFixture) wantNoRecord(within time.Duration) {
	f.t.Helper()
	f.eventually(within, "the order has no record", func() bool { return f.lookup(f.other, order).State == engine.Absent })
}

// cutNetwork cuts the proxy's connections and refuses new ones until restoreNetwork.
func (f *guardFixture) cutNetwork() {
	f.proxy.Refuse(true)
	f.proxy.Reset()
}

func (f *guardFixture) restoreNetwork() { f.proxy.Refuse(false) }

// waitForCleanUp waits until the guard has cleaned up after a lost reply.
func (f *guardFixture) waitForCleanUp() {
	f.t.Helper()
	f.eventually(20*time.Second, "the clean-up is done", func() bool { return f.guard.Stats().CleanedUp > 0 })
}
