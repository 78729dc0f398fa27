package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/internal/keystate"
)

// TestStatesFollowTheReference executes random commands on the states and on the
// reference engine, in virtual time, and compares all answers. The states pass through
// documents, as on a server.
func TestStatesFollowTheReference(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			w := &pair{t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 5)), memory: memory.New()}
			for range 150 {
				w.step()
				time.Sleep(time.Duration(w.random.IntN(60)) * time.Millisecond)
			}
		})
		if t.Failed() {
			return
		}
	}
}

// A pair is both engines with one key.
type pair struct {
	t      *testing.T
	seed   uint64
	random *rand.Rand
	memory *memory.Engine
	nodes  map[string]*node
	zxid   int64
	last   string // the last command
}

const pairKey = "order:42"

func (w *pair) step() {
	switch w.random.IntN(10) {
	case 0, 1, 2, 3, 4, 5, 6:
		w.lock()
	case 7:
		w.quota()
	default:
		w.claim()
	}
}

// do executes a command on the document of a directory.
func (w *pair) do(dir string, c keystate.Command) any {
	w.zxid++
	w.last = fmt.Sprintf("seed %d, transaction %d: %+v", w.seed, w.zxid, c)
	before, version := keystate.New(dir, pairKey), int32(0)
	if n := w.nodes[dir]; n != nil {
		before, version = n.state, n.version
	}
	data, err := encode("i", before, []keystate.Command{c})
	if err != nil {
		w.t.Fatal(err)
	}
	after := before.Clone()
	stat := &zk.Stat{Mtime: time.Now().UnixMilli(), Mzxid: w.zxid, Version: version + 1}
	answers, _ := keystate.Execute(after, []keystate.Command{c}, momentOf(stat))
	n, err := read(dir, pairKey, data, stat)
	if err != nil {
		w.t.Fatal(err)
	}
	again, err := encode("i", n.state, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if direct, err := encode("i", after, nil); err != nil || string(direct) != string(again) {
		w.t.Fatalf("%s: the author has the state %s, %v; readers have %s", w.last, direct, err, again)
	}
	if w.nodes == nil {
		w.nodes = make(map[string]*node)
	}
	w.nodes[dir] = n
	return answers[0]
}

func (w *pair) lock() {
	ctx := context.Background()
	kinds := [][]engine.Kind{{engine.Exclusive, engine.Fair, engine.Fair}, {engine.Read, engine.Write}, {engine.Permit}}[w.seed%3]
	r := engine.Request{
		Key: pairKey, Kind: kinds[w.random.IntN(len(kinds))], Holder: fmt.Sprint("h", w.random.IntN(4), ":1"),
		Attempt: fmt.Sprint("a", w.random.IntN(3)), Lease: w.span(400), Limit: 1 + w.random.IntN(3),
	}
	if w.random.IntN(3) > 0 {
		r.QueueLease = w.span(300)
	}
	if w.random.IntN(40) == 0 {
		r.Kind = engine.Kind(w.random.IntN(int(engine.Latch)))
	}
	switch w.random.IntN(16) {
	case 0, 1:
		got := answer[engine.ReleaseResult](w, keystate.Locks, keystate.CommandOf(keystate.DoAbandon, &r))
		want, err := w.memory.Abandon(ctx, r)
		w.same(got, outcome(want, err))
	case 2, 3, 4:
		got := answer[engine.ReleaseResult](w, keystate.Locks, keystate.CommandOf(keystate.DoRelease, &r))
		want, err := w.memory.Release(ctx, r)
		w.same(got, outcome(want, err))
	case 5, 6:
		_, err := w.do(keystate.Locks, keystate.CommandOf(keystate.DoRenew, &r)).(error)
		w.same(err, w.memory.Renew(ctx, []engine.Request{r})[0] != nil)
	case 7:
		if w.random.IntN(4) == 0 {
			got, _ := w.do(keystate.Locks, keystate.Command{Do: keystate.DoForceRelease}).(engine.Lock)
			want, _ := w.memory.ForceRelease(ctx, pairKey)
			w.sameLock(got, want)
		}
	case 8:
		if w.random.IntN(10) == 0 {
			c := keystate.CommandOf(keystate.DoCountDown, &r)
			c.Kind = engine.Latch
			left, _ := w.do(keystate.Locks, c).(int)
			r.Kind = engine.Latch
			want, _ := w.memory.CountDown(ctx, r)
			w.same(left, want)
		}
	default:
		got := w.do(keystate.Locks, keystate.CommandOf(keystate.DoAcquire, &r))
		want, err := w.memory.Acquire(ctx, r)
		w.sameGrant(got, want, err)
	}
	got, _ := w.do(keystate.Locks, keystate.Command{Do: keystate.DoInspect}).(engine.Lock)
	want, _ := w.memory.Inspect(ctx, pairKey)
	w.sameLock(got, want)
}

// span returns a duration of whole milliseconds.
func (w *pair) span(most int) time.Duration {
	return time.Duration(20+w.random.IntN(most)) * time.Millisecond
}

// answer returns the answer of a command with its error, as outcome does.
func answer[T any](w *pair, dir string, c keystate.Command) any {
	switch a := w.do(dir, c).(type) {
	case error:
		return a.Error()
	case engine.ReleaseResult:
		return outcome(a, nil)
	default:
		return a.(T)
	}
}

// outcome leaves out how many listeners were notified, which is a hint.
func outcome(r engine.ReleaseResult, err error) any {
	r.Listeners = 0
	if err != nil {
		return err.Error()
	}
	return r
}

func (w *pair) same(got, want any) {
	w.t.Helper()
	if !reflect.DeepEqual(got, want) {
		w.t.Fatalf("%s: got %+v, want %+v", w.last, got, want)
	}
}

func (w *pair) sameGrant(got any, want engine.Grant, err error) {
	w.t.Helper()
	var busy, busyGot *engine.BusyError
	if errors.As(err, &busy) {
		refusal, _ := got.(error)
		if !errors.As(refusal, &busyGot) || busyGot.Ahead != busy.Ahead || busyGot.Left != busy.Left {
			w.t.Fatalf("%s: got %+v, want %+v", w.last, got, busy)
		}
		return
	}
	if err != nil {
		for _, e := range []error{engine.ErrAbandoned, engine.ErrKind, engine.ErrUpgrade} {
			refusal, _ := got.(error)
			w.same(errors.Is(refusal, e), errors.Is(err, e))
		}
		return
	}
	g, ok := got.(engine.Grant)
	if !ok || g.Count != want.Count || g.Fence == 0 {
		w.t.Fatalf("%s: got %+v, want %+v", w.last, got, want)
	}
}

func (w *pair) sameLock(got, want engine.Lock) {
	w.t.Helper()
	got.Listeners, want.Listeners = 0, 0
	for _, l := range []*engine.Lock{&got, &want} {
		for i := range l.Holders {
			l.Holders[i].Fence = 0 // both rise, in other steps
		}
		if len(l.Holders)+len(l.Waiters) == 0 {
			*l = engine.Lock{}
		}
	}
	w.same(fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
}

func (w *pair) claim() {
	ctx, l := context.Background(), w.memory.Capabilities().Ledger
	c := engine.Claim{
		Key: pairKey, Attempt: fmt.Sprint("a", w.random.IntN(4)), Fingerprint: []string{"", "x", "x", "y"}[w.random.IntN(4)],
		Lease: w.span(200), Retain: time.Duration(w.random.IntN(3)) * w.span(300), TakeOver: w.random.IntN(3) == 0,
	}
	switch w.random.IntN(8) {
	case 0:
		_, err := w.do(keystate.Records, keystate.ClaimCommand(keystate.DoRenewClaim, &c)).(error)
		w.same(err, l.Renew(ctx, []engine.Claim{c})[0] != nil)
	case 1, 2:
		s := engine.Settlement{
			Key: pairKey, Attempt: c.Attempt, Outcome: []engine.State{engine.Absent, engine.Done, engine.Failed, engine.Unknown}[w.random.IntN(4)],
			Result: []byte("result \xff of some work"[:w.random.IntN(20)]), Retain: w.span(300), FromStart: w.random.IntN(3) == 0,
		}
		got := w.do(keystate.Records, keystate.Command{
			Do: keystate.DoSettle, Attempt: s.Attempt, Outcome: s.Outcome, Result: s.Result, Retain: keystate.Millis(s.Retain), FromStart: s.FromStart,
		})
		want, _ := l.Settle(ctx, s)
		w.same(got, want)
	case 3:
		s := engine.Settlement{Key: pairKey, Attempt: c.Attempt, Abandon: true, Lease: w.span(200)}
		got := w.do(keystate.Records, keystate.Command{Do: keystate.DoAbandonClaim, Attempt: s.Attempt, Lease: keystate.Millis(s.Lease)})
		want, _ := l.Settle(ctx, s)
		w.same(got, want)
	case 4:
		if w.random.IntN(3) == 0 {
			got, _ := w.do(keystate.Records, keystate.Command{Do: keystate.DoErase}).(keystate.Found)
			want, _ := w.memory.Capabilities().Eraser.Erase(ctx, pairKey)
			w.sameRecord(got.Record, want)
		}
	default:
		got := w.do(keystate.Records, keystate.ClaimCommand(keystate.DoClaim, &c))
		want, err := l.Claim(ctx, c)
		refusal, refused := got.(error)
		if refused != (err != nil) || refused && errors.Is(refusal, engine.ErrMismatch) != errors.Is(err, engine.ErrMismatch) {
			w.t.Fatalf("%s: got %v, want %v", w.last, got, err)
		}
		if !refused {
			w.sameRecord(got.(keystate.Found).Record, want)
		}
	}
	want, _ := l.Lookup(ctx, pairKey)
	w.sameRecord(w.do(keystate.Records, keystate.Command{Do: keystate.DoLookup}).(keystate.Found).Record, want)
}

func (w *pair) sameRecord(got, want engine.Record) {
	w.t.Helper()
	got.Fence, want.Fence = 0, 0
	if got.State == engine.Absent {
		got, want = engine.Record{State: got.State}, engine.Record{State: want.State}
	}
	if !got.Began.Equal(want.Began) {
		w.t.Fatalf("%s: began at %v, want %v", w.last, got.Began, want.Began)
	}
	got.Began, want.Began = time.Time{}, time.Time{}
	w.same(fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
}

func (w *pair) quota() {
	ctx, x := context.Background(), w.memory.Capabilities().Quotas
	q := engine.Quota{Key: pairKey, Attempt: fmt.Sprint("a", w.random.IntN(8)), Limit: 1 + w.random.IntN(4), Window: 300 * time.Millisecond}
	if w.random.IntN(4) == 0 {
		got := w.do(keystate.Quotas, keystate.QuotaCommand(keystate.DoReturn, &q))
		want, _ := x.Return(ctx, q)
		w.same(got, want)
		return
	}
	got, _ := w.do(keystate.Quotas, keystate.QuotaCommand(keystate.DoTake, &q)).(engine.Usage)
	want, _ := x.Take(ctx, q)
	w.same(fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
}
