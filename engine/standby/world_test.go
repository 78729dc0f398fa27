package standby_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/engine/standby"
)

// With these values the freeze is about six seconds.
const (
	longest = 5 * time.Second
	view    = time.Second
	freeze  = longest + view
)

// A world is the two engines that all processes of a test share.
type world struct {
	*testing.T
	primary, secondary *memory.Engine
	operator           *standby.Engine
	attempts           int
}

// A process has its own connection to each of the two engines, which can be cut.
type process struct {
	*standby.Engine
	world     *world
	toPrimary *enginetest.Faulty
	toStandby *enginetest.Faulty
}

// inWorld runs a test in virtual time.
func inWorld(t *testing.T, sentence string, test func(w *world)) {
	t.Run(sentence, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := &world{T: t, primary: memory.New(), secondary: memory.New()}
			w.operator = newEngine(t, w.primary, w.secondary, standby.Operator(), standby.Name("ops"))
			test(w)
		})
	})
}

// start starts a process and lets it request a lease, unless nothing is granted now.
func (w *world) start(opts ...standby.Option) *process {
	w.Helper()
	p := w.startIdle(opts...)
	if p.State().Closed == nil {
		p.requestLease(longest)
	}
	return p
}

// requestLease acquires and releases a lock.
func (p *process) requestLease(lease time.Duration) {
	p.world.Helper()
	r := p.world.request("first")
	r.Lease = lease
	p.granted(r)
	if _, err := p.Release(context.Background(), r); err != nil {
		p.world.Fatal(err)
	}
}

// startIdle starts a process that has requested nothing.
func (w *world) startIdle(opts ...standby.Option) *process {
	w.Helper()
	p := &process{world: w, toPrimary: enginetest.NewFaulty(w.primary), toStandby: enginetest.NewFaulty(w.secondary)}
	p.Engine = newEngine(w, p.toPrimary, p.toStandby, append([]standby.Option{standby.LongestLease(longest), standby.MaxRecordAge(view)}, opts...)...)
	return p
}

// cut cuts a connection.
func cut(f *enginetest.Faulty) {
	for _, op := range []enginetest.Op{
		enginetest.OpAcquire, enginetest.OpRenew, enginetest.OpRelease, enginetest.OpAbandon, enginetest.OpNote, enginetest.OpProbe,
		enginetest.OpClaim, enginetest.OpClaimRenew, enginetest.OpSettle, enginetest.OpLookup, enginetest.OpCountDown,
	} {
		f.Inject(enginetest.Fault{Op: op, Do: enginetest.Refuse})
	}
}

// switchTo requires that the operator can switch.
func (w *world) switchTo(to standby.Side) standby.Report {
	w.Helper()
	r, err := w.operator.Switch(context.Background(), to)
	if err != nil {
		w.Fatalf("switch to %v: %v", to, err)
	}
	return r
}

// request returns a new request.
func (w *world) request(key string) engine.Request {
	w.attempts++
	id := fmt.Sprint(w.attempts)
	return engine.Request{Key: key, Holder: "5ba00000-0000-4000-8000-00000000000a:" + id, Attempt: id, Lease: longest}
}

// claim returns a new claim.
func (w *world) claim(key string) engine.Claim {
	w.attempts++
	return engine.Claim{Key: key, Attempt: fmt.Sprint(w.attempts), Lease: longest, Retain: time.Hour}
}

// granted requires that p is granted r.
func (p *process) granted(r engine.Request) engine.Grant {
	p.world.Helper()
	g, err := p.Acquire(context.Background(), r)
	if err != nil {
		p.world.Fatalf("acquire: %v, want a grant", err)
	}
	return g
}

// refused requires that p is refused with an error that matches want.
func (p *process) refused(r engine.Request, want error) error {
	p.world.Helper()
	g, err := p.Acquire(context.Background(), r)
	if !errors.Is(err, want) {
		p.world.Fatalf("acquire: %+v, %v; want %v", g, err, want)
	}
	return err
}

// heldOn reports whether the key is held on a side.
func heldOn(t testing.TB, e *memory.Engine, key string) bool {
	t.Helper()
	l, err := e.Inspect(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	return len(l.Holders) > 0
}

// wantClaim requires the state and result that a claim returns.
func (p *process) wantClaim(c engine.Claim, state engine.State, result string) engine.Record {
	p.world.Helper()
	r, err := p.Capabilities().Ledger.Claim(context.Background(), c)
	if err != nil || r.State != state || string(r.Result) != result {
		p.world.Fatalf("claim: %+v, %v; want %v with %q", r, err, state, result)
	}
	return r
}

// settle requires that p can settle c as done.
func (p *process) settle(c engine.Claim) {
	p.world.Helper()
	o, err := p.Capabilities().Ledger.Settle(context.Background(), engine.Settlement{
		Key: c.Key, Attempt: c.Attempt, Outcome: engine.Done, Result: []byte("paid"), Retain: time.Hour,
	})
	if err != nil || o != engine.Released {
		p.world.Fatalf("settle: %v, %v; want %v", o, err, engine.Released)
	}
}
