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

// A guardFixture is a fixture with two guards. The first connects through the proxy; the
// other stands for another process.
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
	p := &guardFixture{fixture: newFixture(t, args...), policy: policy}
	p.guard = newGuard(t, p.client, policy)
	p.other = newGuard(t, p.fixture.other, policy)
	return p
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
func (p *guardFixture) work(context.Context) (string, error) {
	return fmt.Sprint("result ", p.runs.Add(1)), nil
}

// do calls Do with the work and fails on an error.
func (p *guardFixture) do(g *guard.Guard[string], key guard.Key) string {
	p.t.Helper()
	result, err := g.Do(p.t.Context(), key, p.work)
	if err != nil {
		p.t.Fatalf("Do: %v", err)
	}
	return result
}

// begin claims the order and fails if the claim is not granted. It counts as a run.
func (p *guardFixture) begin(g *guard.Guard[string]) (context.Context, *guard.Claim[string]) {
	p.t.Helper()
	ctx, claim, err := g.Begin(p.t.Context(), order)
	if err != nil {
		p.t.Fatalf("Begin: %v", err)
	}
	if result, ok := claim.Result(); ok {
		p.t.Fatalf("Begin returned the stored result %q", result)
	}
	p.runs.Add(1)
	return ctx, claim
}

// complete settles a claim and fails on an error.
func (p *guardFixture) complete(c *guard.Claim[string]) {
	p.t.Helper()
	if err := c.Complete(fmt.Sprint("result ", p.runs.Load())); err != nil {
		p.t.Fatalf("Complete: %v", err)
	}
}

// warmUp makes a call, so that the engine has loaded its scripts and knows the server's clock.
func (p *guardFixture) warmUp(g *guard.Guard[string]) {
	p.t.Helper()
	_, err := g.Do(p.t.Context(), guard.Of("ada", "first"), func(context.Context) (string, error) { return "warm", nil })
	if err != nil && !errors.Is(err, guard.ErrDuplicate) {
		p.t.Fatalf("Do: %v", err)
	}
}

// wantRuns checks how often the work ran.
func (p *guardFixture) wantRuns(n int64) {
	p.t.Helper()
	if got := p.runs.Load(); got != n {
		p.t.Fatalf("the work ran %d times, want %d", got, n)
	}
}

// wantReplay checks that another process gets the result without a run.
func (p *guardFixture) wantReplay(key guard.Key, want string) {
	p.t.Helper()
	runs := p.runs.Load()
	if got := p.do(p.other, key); got != want {
		p.t.Fatalf("another process got %q, want %q", got, want)
	}
	p.wantRuns(runs)
}

// wantUnknown checks that another process soon gets an unknown outcome and never runs the
// work.
func (p *guardFixture) wantUnknown(within time.Duration) {
	p.t.Helper()
	runs := p.runs.Load()
	p.eventually(within, "the outcome is unknown", func() bool {
		_, err := p.other.Do(p.t.Context(), order, p.work)
		p.wantRuns(runs)
		return errors.Is(err, guard.ErrUnknown)
	})
	p.wantState(engine.Unknown)
}

// wantState checks the state of the order's record.
func (p *guardFixture) wantState(want engine.State) {
	p.t.Helper()
	if s := p.lookup(p.other, order); s.State != want {
		p.t.Fatalf("the order is %v, want %v", s.State, want)
	}
}

func (p *guardFixture) lookup(g *guard.Guard[string], key guard.Key) guard.Status {
	p.t.Helper()
	s, err := g.Lookup(p.t.Context(), key)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// wantRefused checks that the guard behind the proxy returns the given error and does not
// run the work.
func (p *guardFixture) wantRefused(target error) {
	p.t.Helper()
	runs := p.runs.Load()
	_, err := p.guard.Do(p.t.Context(), order, p.work)
	p.wantErr(err, target)
	p.wantRuns(runs)
}

// records returns the Redis keys of all records.
func (p *guardFixture) records() []string {
	var names []string
	for name := range strings.FieldsSeq(p.server.Must("KEYS", "interlock:guard:*")) {
		if !strings.HasPrefix(name, "interlock:guard:abandoned:") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// wantNoRecord waits until the order has no record.
func (p *guardFixture) wantNoRecord(within time.Duration) {
	p.t.Helper()
	p.eventually(within, "the order has no record", func() bool { return p.lookup(p.other, order).State == engine.Absent })
}

// cutNetwork cuts the proxy's connections and refuses new ones until restoreNetwork.
func (p *guardFixture) cutNetwork() {
	p.proxy.Refuse(true)
	p.proxy.Reset()
}

func (p *guardFixture) restoreNetwork() { p.proxy.Refuse(false) }

// waitForCleanUp waits until the guard has cleaned up after a lost reply.
func (p *guardFixture) waitForCleanUp() {
	p.t.Helper()
	p.eventually(20*time.Second, "the clean-up is done", func() bool { return p.guard.Stats().CleanedUp > 0 })
}
