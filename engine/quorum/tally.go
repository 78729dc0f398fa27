package quorum

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A tally is what the nodes have answered to one who asks for a lock.
type tally struct {
	need   int
	all    []*answer // by node; nil while there is none
	before *hold     // what the same holder has already; nil if nothing

	disagreed bool // most have granted the lock, and not the same fence
	late      bool // most have granted it, when too little of the lease was left
}

func (t *tally) init(n, need int) { t.all, t.need = make([]*answer, n), need }

// add notes an answer, unless the same node has raised its fence since.
func (t *tally) add(a answer) {
	if t.all[a.node] == nil {
		t.all[a.node] = &a
	}
}

// raised notes that a node has another fence now.
func (t *tally) raised(a answer) { t.all[a.node] = &a }

// has reports whether a node has granted the lock.
func (t *tally) has(i int) bool { return t.all[i] != nil && t.all[i].err == nil }

// holding are the nodes that have granted the lock.
func (t *tally) holding() (nodes []int) {
	for i := range t.all {
		if t.has(i) {
			nodes = append(nodes, i)
		}
	}
	return nodes
}

// number counts the answers of which f is true.
func (t *tally) number(f func(*answer) bool) (n int) {
	for _, a := range t.all {
		if a != nil && f(a) {
			n++
		}
	}
	return n
}

func (t *tally) granted() int { return t.number(func(a *answer) bool { return a.err == nil }) }
func (t *tally) waiting() int {
	return len(t.all) - t.number(func(*answer) bool { return true })
}

// counting is how many have granted the lock and are witnesses of it.
func (t *tally) counting() int {
	return t.number(func(a *answer) bool { return a.err == nil && a.counts })
}

// won reports whether most nodes have granted the lock. One that has granted again
// what the holder had remembers that, so it counts although it may sit out.
func (t *tally) won() bool { return t.counting() >= t.need || t.same() }

// done reports whether no answer that is missing would make a difference. Whoever
// has the lock already waits until it is clear whether it still does.
func (t *tally) done() bool {
	switch {
	case t.waiting() == 0 || t.same():
		return true
	case t.won():
		return t.before == nil
	}
	worth := t.number(func(a *answer) bool { return a.err == nil && (a.counts || t.matches(a)) })
	return worth+t.waiting() < t.need
}

// same reports whether most nodes have granted what the holder had before, so that
// nobody else can have had it meanwhile.
func (t *tally) same() bool {
	return t.before != nil && t.number(func(a *answer) bool { return a.err == nil && t.matches(a) }) >= t.need
}

// matches reports whether a node has granted what the holder had there before.
func (t *tally) matches(a *answer) bool {
	return t.before != nil && (a.grant.Fence == t.before.fences[a.node] || a.grant.Fence == t.before.fence)
}

// fence is the highest that was granted.
func (t *tally) fence() (highest uint64) {
	for _, f := range t.fences() {
		highest = max(highest, f)
	}
	return highest
}

func (t *tally) fences() []uint64 {
	all := make([]uint64, len(t.all))
	for i := range t.all {
		if t.has(i) {
			all[i] = t.all[i].grant.Fence
		}
	}
	return all
}

// count is how often the holder has entered. A node that was not always there has
// seen less of it.
func (t *tally) count() (most int) {
	for i := range t.all {
		if t.has(i) {
			most = max(most, t.all[i].grant.Count)
		}
	}
	return most
}

// loss says why the lock was not granted. Something that could not be given back is
// stuck: it ends with its lease.
func (t *tally) loss(r engine.Request, bound time.Duration, stuck bool) error {
	if err := t.hopeless(); err != nil {
		return fmt.Errorf("quorum: %q: %w", r.Key, err)
	}
	if t.held() {
		return t.refusal(t.busy(), r.Lease, bound)
	}
	kind := engine.ErrUnavailable
	if stuck || t.number(func(a *answer) bool { return a.err != nil && !sure(a.err) }) > 0 {
		kind = engine.ErrUnknown
	}
	return fmt.Errorf("quorum: %q: %s: %w", r.Key, t.reason(), joined{kind, t.troubles()})
}

// held reports whether the lock would have been granted but for those who have it.
func (t *tally) held() bool {
	busy := len(t.busy())
	return busy > 0 && busy+t.counting() >= t.need
}

// clear reports whether no answer that is missing would change why the lock was not
// granted.
func (t *tally) clear() bool {
	switch {
	case t.waiting() == 0 || t.late || t.disagreed || t.hopeless() != nil:
		return true
	case t.held():
		_, nodes := most(t.busy())
		return nodes >= t.need || nodes+t.waiting() < t.need
	}
	final, _ := t.final()
	return len(t.busy())+t.counting()+t.waiting() < t.need && final+t.waiting() <= len(t.all)-t.need
}

// hopeless returns an error that most nodes would answer with again.
func (t *tally) hopeless() error {
	if n, err := t.final(); n > len(t.all)-t.need {
		return err
	}
	return nil
}

// final counts the errors that asking again would not help against, and returns the
// first.
func (t *tally) final() (n int, first error) {
	n = t.number(func(a *answer) bool {
		var busy *engine.BusyError
		if a.err == nil || engine.Temporary(a.err) || errors.As(a.err, &busy) {
			return false
		}
		first = cmp.Or(first, a.err)
		return true
	})
	return n, first
}

// busy are the refusals, those first that end first.
func (t *tally) busy() (all []*engine.BusyError) {
	for _, a := range t.all {
		var busy *engine.BusyError
		if a != nil && errors.As(a.err, &busy) {
			all = append(all, busy)
		}
	}
	slices.SortFunc(all, func(a, b *engine.BusyError) int { return cmp.Compare(a.Left, b.Left) })
	return all
}

// refusal says who has the lock: whoever has most of the nodes. It is free for most
// when as many leases have run out as are missing, at the soonest: those who have not
// answered may be free.
//
// If nobody has most of them, several have asked at once, and all give back what
// they have got. Then it is soon, and for each at another time, or they would
// meet again.
func (t *tally) refusal(busy []*engine.BusyError, lease, bound time.Duration) *engine.BusyError {
	holder, nodes := most(busy)
	young := lease-busy[len(busy)-1].Left < 2*bound
	left := busy[min(max(t.need-t.counting()-t.waiting(), 1), len(busy))-1].Left
	if nodes < t.need && young {
		left = min(left, time.Millisecond+rand.N(again))
	}
	return &engine.BusyError{Holder: holder, Left: left}
}

// again is within what time those come back who were in each other's way. Two need
// a round trip each to be done before the other comes.
const again = 16 * time.Millisecond

// most returns who has most nodes, and how many.
func most(busy []*engine.BusyError) (holder string, nodes int) {
	seen := make(map[string]int)
	for _, b := range busy {
		seen[b.Holder]++
		if n := seen[b.Holder]; n > nodes || n == nodes && b.Holder < holder {
			holder, nodes = b.Holder, n
		}
	}
	return holder, nodes
}

// reason says why too few nodes have granted the lock, though nobody else has it.
func (t *tally) reason() string {
	sitting := t.number(func(a *answer) bool { return a.err == nil && !a.counts })
	switch {
	case t.late:
		return "most nodes have granted it, but too little of the lease is left: the process stood still, or the lease is too short"
	case t.disagreed:
		return fmt.Sprintf("most of %d nodes have granted it, but not agreed on a fence in time", len(t.all))
	case sitting > 0:
		return fmt.Sprintf("only %d of %d nodes count, and %d are needed: %d were started anew and sit out until all they may have forgotten has run out",
			t.counting(), len(t.all), t.need, sitting)
	}
	return fmt.Sprintf("only %d of %d nodes have granted it, and %d are needed", t.counting(), len(t.all), t.need)
}

// troubles are what went wrong at single nodes, once each.
func (t *tally) troubles() error {
	var all []error
	for i, a := range t.all {
		if a == nil {
			continue
		}
		if err := cmp.Or(a.err, a.doubt); err != nil {
			all = append(all, fmt.Errorf("node %d: %w", i+1, err))
		}
	}
	return errors.Join(all...)
}

// joined is what happened, and why. It matches the first alone: what single nodes
// have answered is not the answer.
type joined struct{ what, why error }

func (j joined) Error() string {
	if j.why == nil {
		return j.what.Error()
	}
	return fmt.Sprintf("%v (%v)", j.what, j.why)
}

func (j joined) Unwrap() error { return j.what }
