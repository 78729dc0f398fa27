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

// TestLinearizable records the answers of a real Redis to concurrent calls, with lost
// replies and late calls, and checks that the history is linearizable (requirement R2).
// It also requires a minimum number of faults, because a history without faults proves
// little.
func TestLinearizable(t *testing.T) {
	for _, c := range []struct {
		locks string
		kinds []engine.Kind // of the requests
	}{
		{"exclusive", []engine.Kind{engine.Exclusive}},
		{"fair", []engine.Kind{engine.Fair, engine.Fair, engine.Exclusive}},
		{"read/write", []engine.Kind{engine.Read, engine.Read, engine.Write}},
		{"permit", []engine.Kind{engine.Permit}},
	} {
		for _, fault := range []string{"replies lost", "connections cut"} {
			t.Run(c.locks+" locks with "+fault, func(t *testing.T) {
				server := redistest.Start(t)
				r := &recorder{wanted: 20_000, callTimeout: shortTimeout}
				fired := faultyEngines[fault](t, server, r)
				r.record(callers, randomRequests(c.kinds))
				ops, err := r.history()
				if err != nil {
					t.Fatal(err)
				}
				checkHistory(t, lockModel(), r, ops, fired())
				if left := leftoverKeys(server); left != "" {
					t.Errorf("the server still has the keys %s, want none", left)
				}
			})
		}
	}
}

// checkHistory checks that a history is linearizable. As a test of the checker, it also
// checks that the history is not linearizable without one of its releases.
func checkHistory(t *testing.T, model porcupine.Model, r *recorder, ops []porcupine.Operation, faults int) {
	t.Helper()
	start, recorded, refused := time.Now(), len(ops), r.results[busy]+r.results[done]
	for _, op := range ops {
		if op.Input.(call).op == opJoin { // a part of another one
			recorded--
		}
	}
	verdict := porcupine.CheckOperationsTimeout(model, ops, 2*time.Minute)
	fmt.Printf("%s: %s; %d operations, %d granted, %d refused, %d unknown, %d faults, in %v, checked in %v\n",
		t.Name(), verdict, recorded, r.results[granted], refused, r.results[unknown], faults,
		start.Sub(r.start).Round(time.Millisecond), time.Since(start).Round(time.Millisecond))
	if verdict != porcupine.Ok {
		t.Fatalf("the checker returned %s, want Ok\n%s", verdict, explain(model, ops))
	}
	for name, n := range map[string]struct{ got, least int }{
		"operations":   {recorded, r.wanted},
		"grants":       {r.results[granted], r.wanted / 10},
		"refusals":     {refused, r.wanted / 20},
		"lost replies": {r.results[unknown], r.wanted / 200},
		"faults":       {faults, r.wanted / r.faultEvery / 2},
	} {
		if n.got < n.least {
			t.Errorf("got %d %s, want at least %d", n.got, name, n.least)
		}
	}
	if verdict := porcupine.CheckOperationsTimeout(model, dropRelease(ops), time.Minute); verdict != porcupine.Illegal {
		t.Errorf("for a history without one of its releases the checker returned %s, want Illegal", verdict)
	}
}

const callers, keys, permits = 40, 32, 2

// shortTimeout is how long a call to a Redis on this machine may take.
const shortTimeout = 150 * time.Millisecond

// randomRequests returns a source of requests for random locks of random kinds. Half of
// the locks have fence counters.
func randomRequests(kinds []engine.Kind) func() engine.Request {
	return func() engine.Request {
		key := rand.IntN(keys)
		return randomRequest(fmt.Sprint("linear:", key), kinds, key%2 == 0)
	}
}

// randomRequest returns a request for a lock of one of some kinds, which mostly waits in the
// queue.
func randomRequest(key string, kinds []engine.Kind, fenced bool) engine.Request {
	r := engine.Request{Key: key, Kind: kinds[rand.IntN(len(kinds))], Lease: longLease, Fenced: fenced, Limit: permits}
	if rand.IntN(5) > 0 {
		r.QueueLease = longLease
	}
	return r
}

// faultyEngines give a recorder an engine with faults, and return a function that counts
// the faults.
var faultyEngines = map[string]func(*testing.T, *redistest.Server, *recorder) func() int{
	"replies lost": func(t *testing.T, server *redistest.Server, r *recorder) func() int {
		f := enginetest.NewFaulty(arrivalRecorder{openWithShortTimeout(t, server.Addr())})
		t.Cleanup(f.Wait)
		r.engine, r.faultEvery = f, 50
		r.injectFault = func() {
			f.Heal() // removes a fault that hit no call
			f.Inject(lockFaults(r.callTimeout)[rand.IntN(6)])
		}
		return func() int { return f.Fired() }
	},
	"connections cut": func(t *testing.T, server *redistest.Server, r *recorder) func() int {
		net := faultnet.New(t, server.Addr())
		r.engine, r.faultEvery, r.injectFault = arrivalRecorder{openWithShortTimeout(t, net.Addr())}, 500, net.CutAfterRequest
		return func() int { return net.Connections() - 1 }
	},
}

// lockFaults are the faults of a single call, of which some arrive after their timeout. They
// do not include a duplicated call, which would need two operations in the history.
func lockFaults(timeout time.Duration) []enginetest.Fault {
	lateDelay := timeout * 4 / 3
	return []enginetest.Fault{
		{Op: enginetest.OpAcquire, Do: enginetest.LoseReply, Times: 1},
		{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: lateDelay, Times: 1},
		{Op: enginetest.OpRelease, Do: enginetest.LoseReply, Times: 1},
		{Op: enginetest.OpRelease, Do: enginetest.Delay, After: lateDelay, Times: 1},
		{Op: enginetest.OpRenew, Do: enginetest.LoseReply, Times: 1},
		{Op: enginetest.OpAbandon, Do: enginetest.LoseReply, Times: 1},
	}
}

// openWithShortTimeout opens an engine that refuses late calls early, so that unknown
// outcomes are resolved soon.
func openWithShortTimeout(t *testing.T, addr string) *redisengine.Engine {
	t.Helper()
	e, err := redisengine.Open(t.Context(), "redis://"+addr, redisengine.Timeout(300*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// explain returns, for the first key that is not linearizable, the end of the longest
// partial linearization and the operations around it.
func explain(model porcupine.Model, history []porcupine.Operation) string {
	var b strings.Builder
	for _, part := range byKey(history) {
		verdict, info := porcupine.CheckOperationsVerbose(model, part, time.Minute)
		if verdict == porcupine.Ok {
			continue
		}
		fits := 0
		for _, operations := range info.PartialLinearizationsOperations()[0] {
			if len(operations) > fits {
				fits = len(operations)
				b.Reset()
				for _, op := range operations[max(0, len(operations)-20):] {
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
