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

// A tally counts the answers of the nodes to one acquisition.
type tally struct {
	need   int
	all    []*answer // by node; nil while pending
	before *hold     // the holder's earlier hold, or nil

	fenceDisagreed bool // a majority granted the lock, but no common fence
	late           bool // a majority granted it when too little of the lease was left
}

func (t *tally) init(n, need int) { t.all, t.need = make([]*answer, n), need }

// add records an answer, unless the node has raised its fence since.
func (t *tally) add(a answer) {
	// The channels of answers and raises are separate, so the raise may be read first.
	if t.all[a.node] == nil {
		t.all[a.node] = &a
	}
}

// raised records the raised fence of a node.
func (t *tally) raised(a answer) { t.all[a.node] = &a }

// has reports whether a node has granted the lock.
func (t *tally) has(i int) bool { return t.all[i] != nil && t.all[i].err == nil }

// holding returns the nodes that have granted the lock.
func (t *tally) holding() (nodes []int) {
	for i := range t.all {
		if t.has(i) {
			nodes = append(nodes, i)
		}
	}
	return nodes
}

// number counts the answers for which f is true.
func (t *tally) number(f func(*answer) bool) (n int) {
	for _, a := range t.all {
		if a != nil && f(a) {
			n++
		}
	}
	return n
}

// granted counts all grants, also those of nodes on probation.
func (t *tally) granted() int { return t.number(func(a *answer) bool { return a.err == nil }) }
func (t *tally) waiting() int {
	return len(t.all) - t.number(func(*answer) bool { return true })
}

// counting returns how many grants count.
func (t *tally) counting() int {
	return t.number(func(a *answer) bool { return a.err == nil && a.counts })
}

// won reports whether a majority has granted the lock. A node that repeats its earlier
// grant has not lost it, so it counts even on probation.
func (t *tally) won() bool { return t.counting() >= t.need || t.same() }

// done reports whether the pending answers can change nothing. A holder that enters
// again waits until it is clear whether it still has the lock.
func (t *tally) done() bool {
	switch {
	case t.waiting() == 0 || t.same():
		return true
	case t.won():
		return t.before == nil
	}
	// A node on probation counts only if it repeats its earlier grant.
	useful := t.number(func(a *answer) bool { return a.err == nil && (a.counts || t.matches(a)) })
	return useful+t.waiting() < t.need
}

// same reports whether a majority has repeated its earlier grant, so that no other
// holder can have had the lock meanwhile.
func (t *tally) same() bool {
	return t.before != nil && t.number(func(a *answer) bool { return a.err == nil && t.matches(a) }) >= t.need
}

// matches reports whether a node has repeated its earlier grant.
func (t *tally) matches(a *answer) bool {
	return t.before != nil && (a.grant.Fence == t.before.fences[a.node] || a.grant.Fence == t.before.fence)
}

// fence returns the highest granted fence.
func (t *tally) fence() (highest uint64) {
	for _, f := range t.fences() {
		highest = max(highest, f)
	}
	return highest
}

// fences returns the granted fences by node, with zero for a node that granted nothing.
func (t *tally) fences() []uint64 {
	all := make([]uint64, len(t.all))
	for i := range t.all {
		if t.has(i) {
			all[i] = t.all[i].grant.Fence
		}
	}
	return all
}

// count returns the holder's number of entries. A node that was down for a while has
// seen fewer.
func (t *tally) count() (most int) {
	for i := range t.all {
		if t.has(i) {
			most = max(most, t.all[i].grant.Count)
		}
	}
	return most
}

// failure returns why the lock was not granted. releaseFailed means that a partial
// grant could not be released and lasts for its lease.
func (t *tally) failure(r engine.Request, timeout time.Duration, releaseFailed bool) error {
	if err := t.finalError(); err != nil {
		return fmt.Errorf("quorum: %q: %w", r.Key, err)
	}
	if t.held() {
		return t.refusal(t.busy(), r.Lease, timeout)
	}
	kind := engine.ErrUnavailable
	if releaseFailed || t.number(func(a *answer) bool { return a.err != nil && !noEffect(a.err) }) > 0 {
		kind = engine.ErrUnknown
	}
	return fmt.Errorf("quorum: %q: %s: %w", r.Key, t.reason(), kindError{kind, t.nodeErrors()})
}

// held reports whether the lock was refused only because of other holders.
func (t *tally) held() bool {
	busy := len(t.busy())
	return busy > 0 && busy+t.counting() >= t.need
}

// reasonKnown reports whether the pending answers cannot change why the lock was not
// granted.
func (t *tally) reasonKnown() bool {
	switch {
	case t.waiting() == 0 || t.late || t.fenceDisagreed || t.finalError() != nil:
		return true
	// The refusal names a holder, so it waits until the largest holder is known.
	case t.held():
		_, nodes := largestHolder(t.busy())
		return nodes >= t.need || nodes+t.waiting() < t.need
	}
	final, _ := t.finalErrors()
	return len(t.busy())+t.counting()+t.waiting() < t.need && final+t.waiting() <= len(t.all)-t.need
}

// finalError returns an error that a majority would return again.
func (t *tally) finalError() error {
	if n, err := t.finalErrors(); n > len(t.all)-t.need {
		return err
	}
	return nil
}

// finalErrors counts the errors that a retry would not fix, and returns the first.
func (t *tally) finalErrors() (n int, first error) {
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

// busy returns the refusals, ordered by the time left of their leases.
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

// refusal names the holder with the most nodes. Left is the time until as many leases have
// expired as votes are missing: then a majority may be free. Pending nodes count as free.
//
// If no holder has a majority, several callers tried at once, and all release their
// partial grants. Then a retry is due soon, after a random pause, so that they do not
// collide again.
func (t *tally) refusal(busy []*engine.BusyError, lease, timeout time.Duration) *engine.BusyError {
	holder, nodes := largestHolder(busy)
	// Callers that collide have leases that were just granted. An old lease may belong to a
	// dead process, and a quick retry would not help.
	young := lease-busy[len(busy)-1].Left < 2*timeout
	left := busy[min(max(t.need-t.counting()-t.waiting(), 1), len(busy))-1].Left
	if nodes < t.need && young {
		left = min(left, time.Millisecond+rand.N(retrySpread))
	}
	return &engine.BusyError{Holder: holder, Left: left}
}

// retrySpread is the range of the random pause after a collision. It leaves two callers
// time for a round trip each.
const retrySpread = 16 * time.Millisecond

// largestHolder returns the holder with the most nodes, and their number.
func largestHolder(busy []*engine.BusyError) (holder string, nodes int) {
	seen := make(map[string]int)
	for _, b := range busy {
		seen[b.Holder]++
		if n := seen[b.Holder]; n > nodes || n == nodes && b.Holder < holder {
			holder, nodes = b.Holder, n
		}
	}
	return holder, nodes
}

// reason returns why too few nodes have granted a lock that no other holder has.
func (t *tally) reason() string {
	onProbation := t.number(func(a *answer) bool { return a.err == nil && !a.counts })
	switch {
	case t.late:
		return "a majority has granted it, but too little of the lease is left: the process was paused, or the lease is too short"
	case t.fenceDisagreed:
		return fmt.Sprintf("a majority of %d nodes has granted it, but did not agree on a fence in time", len(t.all))
	case onProbation > 0:
		return fmt.Sprintf("only %d of %d nodes count, and %d are needed: %d were restarted and count again when all leases they may have lost have expired",
			t.counting(), len(t.all), t.need, onProbation)
	}
	return fmt.Sprintf("only %d of %d nodes have granted it, and %d are needed", t.counting(), len(t.all), t.need)
}

// nodeErrors joins the errors of the nodes.
func (t *tally) nodeErrors() error {
	var all []error
	for i, a := range t.all {
		if a == nil {
			continue
		}
		if err := cmp.Or(a.err, a.countsErr); err != nil {
			all = append(all, fmt.Errorf("node %d: %w", i+1, err))
		}
	}
	return errors.Join(all...)
}

// A kindError is an error with the errors of the nodes. errors.Is matches only kind: the
// errors of single nodes are not the result.
type kindError struct{ kind, nodes error }

func (j kindError) Error() string {
	if j.nodes == nil {
		return j.kind.Error()
	}
	return fmt.Sprintf("%v (%v)", j.kind, j.nodes)
}

func (j kindError) Unwrap() error { return j.kind }
