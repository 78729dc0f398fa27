package torture

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// TestLinear records what a real Redis says to many at a time, with replies lost
// and calls that arrive late, and demands that there is an order in which all of
// it makes sense (R2). A history without faults proves little, so they are
// counted.
func TestLinear(t *testing.T) {
	for _, c := range []struct {
		locks string
		kinds []engine.Kind // as which they are asked for
	}{
		{"exclusive", []engine.Kind{engine.Exclusive}},
		{"fair", []engine.Kind{engine.Fair, engine.Fair, engine.Exclusive}},
		{"read/write", []engine.Kind{engine.Read, engine.Read, engine.Write}},
	} {
		for _, fault := range []string{"replies lost", "connections cut"} {
			t.Run(c.locks+" locks with "+fault, func(t *testing.T) {
				server := redistest.Start(t)
				r := &recorder{wanted: 20_000}
				fired := villains[fault](t, server, r)
				r.record(callers, anyOf(c.kinds))
				ops, err := r.history()
				if err != nil {
					t.Fatal(err)
				}
				judged(t, r, ops, fired())
				if left := remains(server); left != "" {
					t.Errorf("these are left: %s", left)
				}
			})
		}
	}
}

// judged demands that a history makes sense, and that it would not without one of
// its releases.
func judged(t *testing.T, r *recorder, ops []porcupine.Operation, faults int) {
	t.Helper()
	start := time.Now()
	verdict := porcupine.CheckOperationsTimeout(judge(), ops, 2*time.Minute)
	fmt.Printf("%s: %s; %d operations, %d granted, %d refused, %d unknown, %d faults, in %v, judged in %v\n",
		t.Name(), verdict, len(ops), r.said[granted], r.said[busy], r.said[unknown], faults,
		start.Sub(r.start).Round(time.Millisecond), time.Since(start).Round(time.Millisecond))
	if verdict != porcupine.Ok {
		t.Fatalf("judged %s\n%s", verdict, puzzle(ops))
	}
	for what, n := range map[string]struct{ got, least int }{
		"operations":   {len(ops), r.wanted},
		"grants":       {r.said[granted], r.wanted / 10},
		"refusals":     {r.said[busy], r.wanted / 20},
		"lost replies": {r.said[unknown], r.wanted / 200},
		"faults":       {faults, r.wanted / r.often / 2},
	} {
		if n.got < n.least {
			t.Errorf("%d %s, want %d at least", n.got, what, n.least)
		}
	}
	if verdict := porcupine.CheckOperationsTimeout(judge(), forged(ops), time.Minute); verdict != porcupine.Illegal {
		t.Errorf("without one of its releases it is judged %s", verdict)
	}
}

const callers, keys = 40, 32

// anyOf returns who asks for any of some locks, as any of some kinds. Half of the
// locks have fences that are counted.
func anyOf(kinds []engine.Kind) func() engine.Request {
	return func() engine.Request {
		key := rand.IntN(keys)
		r := engine.Request{Key: fmt.Sprint("linear:", key), Kind: kinds[rand.IntN(len(kinds))], Lease: stay, Fenced: key%2 == 0}
		if rand.IntN(5) > 0 {
			r.QueueLease = stay
		}
		return r
	}
}

// villains give a recorder an engine with faults, and return a function that counts
// them.
var villains = map[string]func(*testing.T, *redistest.Server, *recorder) func() int{
	"replies lost": func(t *testing.T, server *redistest.Server, r *recorder) func() int {
		f := enginetest.NewFaulty(doorman{quick(t, server.Addr())})
		t.Cleanup(f.Wait)
		r.engine, r.often = f, 50
		r.harm = func() {
			f.Heal() // of what has met no call yet
			f.Inject(spite[rand.IntN(len(spite))])
		}
		return func() int { return f.Fired() }
	},
	"connections cut": func(t *testing.T, server *redistest.Server, r *recorder) func() int {
		net := faultnet.New(t, server.Addr())
		r.engine, r.often, r.harm = doorman{quick(t, net.Addr())}, 500, net.CutAfterRequest
		return func() int { return net.Connections() - 1 }
	},
}

// spite is all that can happen to one call. A call that happens twice is two, and
// cannot be told from here.
var spite = []enginetest.Fault{
	{Op: enginetest.OpAcquire, Do: enginetest.LoseReply, Times: 1},
	{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: tooLate, Times: 1},
	{Op: enginetest.OpRelease, Do: enginetest.LoseReply, Times: 1},
	{Op: enginetest.OpRelease, Do: enginetest.Delay, After: tooLate, Times: 1},
	{Op: enginetest.OpRenew, Do: enginetest.LoseReply, Times: 1},
	{Op: enginetest.OpAbandon, Do: enginetest.LoseReply, Times: 1},
}

// quick opens an engine in which what is late is soon too late, so that what is
// unknown does not stay so for long.
func quick(t *testing.T, addr string) *redisengine.Engine {
	t.Helper()
	e, err := redisengine.Open(t.Context(), "redis://"+addr, redisengine.Timeout(300*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// puzzle returns, of the key that makes no sense, what was found to fit last and
// what did not fit after it.
func puzzle(history []porcupine.Operation) string {
	var b strings.Builder
	for _, part := range byKey(history) {
		verdict, info := porcupine.CheckOperationsVerbose(judge(), part, time.Minute)
		if verdict == porcupine.Ok {
			continue
		}
		fits := 0
		for _, some := range info.PartialLinearizationsOperations()[0] {
			if len(some) > fits {
				fits = len(some)
				b.Reset()
				for _, op := range some[max(0, len(some)-20):] {
					fmt.Fprintf(&b, "fits          %12d %12d %+v → %+v\n", op.Call, op.Return, op.Input, op.Output)
				}
			}
		}
		last := part[min(fits+20, len(part)-1)].Call
		for _, op := range part[max(0, fits-20):] {
			if op.Call <= last {
				fmt.Fprintf(&b, "around there  %12d %12d %+v → %+v\n", op.Call, op.Return, op.Input, op.Output)
			}
		}
		break
	}
	return b.String()
}
