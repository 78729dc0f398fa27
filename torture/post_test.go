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

// A post is a place with guards: one behind the network that can be cut, and one
// as another process has it.
type post struct {
	*place
	policy guard.Policy
	guard  *guard.Guard[string] // through net
	other  *guard.Guard[string] // directly
	runs   atomic.Int64         // how often the work was done
}

// order is what is to happen once.
var order = guard.Of("ada", "order-1")

// strict is the policy of most rows: nothing runs unguarded, and unknown
// outcomes are held.
func strict(lease time.Duration) guard.Policy {
	return guard.Policy{Name: "fault", Lease: lease, OnUnknown: guard.Hold}
}

func newPost(t *testing.T, policy guard.Policy, args ...string) *post {
	t.Helper()
	p := &post{place: newPlace(t, args...), policy: policy}
	p.guard = newGuard(t, p.client, policy)
	p.other = newGuard(t, p.place.other, policy)
	return p
}

// newGuard returns a guard that is closed before its client is.
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

// work counts how often it is done, and returns a result that tells.
func (p *post) work(context.Context) (string, error) {
	return fmt.Sprint("result ", p.runs.Add(1)), nil
}

// do has the work done, which must go well.
func (p *post) do(g *guard.Guard[string], key guard.Key) string {
	p.t.Helper()
	result, err := g.Do(p.t.Context(), key, p.work)
	if err != nil {
		p.t.Fatalf("Do: %v", err)
	}
	return result
}

// begin claims the order, which must be granted. The work it stands for counts.
func (p *post) begin(g *guard.Guard[string]) (context.Context, *guard.Claim[string]) {
	p.t.Helper()
	ctx, claim, err := g.Begin(p.t.Context(), order)
	if err != nil {
		p.t.Fatalf("Begin: %v", err)
	}
	if result, ok := claim.Result(); ok {
		p.t.Fatalf("Begin found the result %q", result)
	}
	p.runs.Add(1)
	return ctx, claim
}

// complete settles a claim, which must go well.
func (p *post) complete(c *guard.Claim[string]) {
	p.t.Helper()
	if err := c.Complete(fmt.Sprint("result ", p.runs.Load())); err != nil {
		p.t.Fatalf("Complete: %v", err)
	}
}

// know makes the engine know the server: its scripts, and its clock.
func (p *post) know(g *guard.Guard[string]) {
	p.t.Helper()
	_, err := g.Do(p.t.Context(), guard.Of("ada", "first"), func(context.Context) (string, error) { return "known", nil })
	if err != nil && !errors.Is(err, guard.ErrDuplicate) {
		p.t.Fatalf("Do: %v", err)
	}
}

// wantRuns checks how often the work was done.
func (p *post) wantRuns(n int64) {
	p.t.Helper()
	if got := p.runs.Load(); got != n {
		p.t.Fatalf("the work was done %d times, want %d", got, n)
	}
}

// wantReplay checks that another process gets the result, and does nothing.
func (p *post) wantReplay(key guard.Key, want string) {
	p.t.Helper()
	runs := p.runs.Load()
	if got := p.do(p.other, key); got != want {
		p.t.Fatalf("another process got %q, want %q", got, want)
	}
	p.wantRuns(runs)
}

// wantUnknown checks that another process soon gets an unknown outcome and never runs the
// work.
func (p *post) wantUnknown(within time.Duration) {
	p.t.Helper()
	runs := p.runs.Load()
	p.soon(within, "the outcome is unknown", func() bool {
		_, err := p.other.Do(p.t.Context(), order, p.work)
		p.wantRuns(runs)
		return errors.Is(err, guard.ErrUnknown)
	})
	p.wantState(engine.Unknown)
}

// wantState checks what the engine knows of the order.
func (p *post) wantState(want engine.State) {
	p.t.Helper()
	if s := p.look(p.other, order); s.State != want {
		p.t.Fatalf("the order is %v, want %v", s.State, want)
	}
}

func (p *post) look(g *guard.Guard[string], key guard.Key) guard.Status {
	p.t.Helper()
	s, err := g.Lookup(p.t.Context(), key)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// wantRefused checks what the guard behind the network answers while it is in
// trouble: the given error, and nothing runs.
func (p *post) wantRefused(target error) {
	p.t.Helper()
	runs := p.runs.Load()
	_, err := p.guard.Do(p.t.Context(), order, p.work)
	p.wantErr(err, target)
	p.wantRuns(runs)
}

// records returns the entries of records that are on the server.
func (p *post) records() []string {
	var names []string
	for name := range strings.FieldsSeq(p.server.Must("KEYS", "interlock:guard:*")) {
		if !strings.HasPrefix(name, "interlock:guard:abandoned:") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// wantNoRecord checks that nothing of the order is left, soon.
func (p *post) wantNoRecord(within time.Duration) {
	p.t.Helper()
	p.soon(within, "nothing is known of the order", func() bool { return p.look(p.other, order).State == engine.Absent })
}

// cut takes the network away, until mend.
func (p *post) cut() {
	p.net.Refuse(true)
	p.net.Reset()
}

func (p *post) mend() { p.net.Refuse(false) }

// cleanedUp waits until what a lost reply may have left behind was taken away.
func (p *post) cleanedUp() {
	p.t.Helper()
	p.soon(20*time.Second, "the clean-up is done", func() bool { return p.guard.Stats().CleanedUp > 0 })
}
