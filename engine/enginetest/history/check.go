package history

import (
	"fmt"
	"slices"
	"time"
)

// An Option is another requirement of [Check].
type Option func(*judge)

// Ordered requires that requests are granted in order. Requests less than apart from
// each other may have reached the engine in another order, so they are not compared.
func Ordered(apart time.Duration) Option {
	return func(j *judge) { j.ordered, j.apart = true, apart }
}

// Within requires that every waiter that does not give up is granted within bound.
func Within(bound time.Duration) Option {
	return func(j *judge) { j.bound = bound }
}

// Check checks a history: no two holds of a key overlap unless both are shared,
// fences rise strictly in the order of grants, and no holder overtakes a [Queued] waiter.
// Concurrent readers may have any fences above that of the last writer.
func Check(events []Event, opts ...Option) Report {
	j := &judge{keys: make(map[string]*key), grants: make(map[string]int), processes: make(map[string]bool)}
	for _, opt := range opts {
		opt(j)
	}
	for i, e := range events {
		j.line = i + 1
		j.judge(e)
	}
	return j.close(events)
}

// A judge reads a history once and keeps the state of each key.
type judge struct {
	ordered bool
	apart   time.Duration
	bound   time.Duration // zero means any

	line      int
	keys      map[string]*key
	grants    map[string]int // by who
	processes map[string]bool
	waits     []time.Duration
	report    Report
}

// A key is the state of one lock.
type key struct {
	asking []Event   // in order
	line   []Event   // the engine's queue
	inside []hold    // one, if all is well, or several who read
	last   *Event    // the last Enter with a fence, of one who was to be alone
	read   *Event    // that with the highest fence, of those who read
	idle   time.Time // since when the lock is free
}

// A hold is a current holder.
type hold struct {
	Event
	depth int // how often it entered
	alone int // how many of these times to be alone
}

// beside reports whether e may happen during h.
func (h hold) beside(e Event) bool { return e.Shared && h.alone == 0 }

func (j *judge) judge(e Event) {
	j.processes[e.Process] = true
	if e.Kind == Lost && e.Actor == "" {
		j.dies(e)
		return
	}
	k := j.keys[e.Key]
	if k == nil {
		k = new(key)
		j.keys[e.Key] = k
	}
	switch e.Kind {
	case Ask:
		j.asks(k, e)
	case Enter:
		j.enters(k, e)
	case Leave, Lost:
		j.leaves(k, e)
	case Stop:
		j.stops(k, e)
	case Queued:
		j.linesUp(k, e)
	default:
		j.accuse(Malformed, e, "%q is no kind of event", e.Kind)
	}
}

func (j *judge) asks(k *key, e Event) {
	j.report.Asks++
	j.grants[e.name()] += 0 // one who never gets a turn counts as well
	if slices.ContainsFunc(k.asking, sameAs(e)) {
		j.accuse(Malformed, e, "%s asks twice at a time", e.name())
		return
	}
	k.asking = append(k.asking, e)
}

func (j *judge) enters(k *key, e Event) {
	i := k.find(e)
	if i < 0 || !e.Shared && k.inside[i].alone == 0 { // it is new, or reads and came to write
		for other, h := range k.inside {
			if other != i && !h.beside(e) {
				j.accuse(Overlap, e, "%s entered while %s was inside", e.name(), h.name())
			}
		}
	}
	if i >= 0 { // it has the lock already and enters again
		k.inside[i].enter(e)
		k.asking = slices.DeleteFunc(k.asking, sameAs(e))
		return
	}
	j.report.Grants++
	j.grants[e.name()]++
	j.fences(k, e)
	j.turn(k, e)
	j.gap(k, e.At)
	j.served(k, e)
	k.inside = append(k.inside, hold{Event: e})
	k.inside[len(k.inside)-1].enter(e)
}

func (h *hold) enter(e Event) {
	h.depth++
	if !e.Shared {
		h.alone++
	}
}

// fences compares the fence of a grant with earlier ones. Readers are granted together,
// so their events may be out of order.
func (j *judge) fences(k *key, e Event) {
	if e.Fence == 0 {
		return
	}
	before := k.last
	if k.read != nil && !e.Shared && (before == nil || k.read.Fence > before.Fence) {
		before = k.read
	}
	if before != nil && e.Fence <= before.Fence {
		j.accuse(FenceFell, e, "%s got fence %d after %s got %d", e.name(), e.Fence, before.name(), before.Fence)
	}
	switch {
	case !e.Shared:
		k.last = &e
	case k.read == nil || e.Fence > k.read.Fence:
		k.read = &e
	}
}

// served removes a granted waiter from the queue, and checks the waiters before it.
func (j *judge) served(k *key, e Event) {
	i := slices.IndexFunc(k.asking, sameAs(e))
	if i < 0 {
		return // it did not say that it asked
	}
	ask := k.asking[i]
	j.waited(ask, e.At)
	j.waits = append(j.waits, e.At.Sub(ask.At))
	for _, earlier := range k.asking[:i] {
		if j.ordered && ask.At.Sub(earlier.At) > j.apart {
			j.accuse(OutOfOrder, e, "%s, who asked %v earlier, still waits when %s enters",
				earlier.name(), ask.At.Sub(earlier.At), e.name())
			break // one is enough to show it
		}
	}
	k.asking = slices.Delete(k.asking, i, i+1)
}

func (j *judge) leaves(k *key, e Event) {
	i := k.find(e)
	if i < 0 {
		j.accuse(Malformed, e, "%s leaves or loses what it does not hold", e.name())
		return
	}
	if e.Kind == Lost {
		j.report.Lost++
		k.inside[i].depth, k.inside[i].alone = 1, 0 // all its entries end at once
	} else if !e.Shared {
		k.inside[i].alone--
	}
	if k.inside[i].depth--; k.inside[i].depth == 0 {
		k.inside = slices.Delete(k.inside, i, i+1)
		k.idle = e.At
	}
}

func (j *judge) stops(k *key, e Event) {
	if i := slices.IndexFunc(k.asking, sameAs(e)); i >= 0 {
		j.waited(k.asking[i], e.At)
		j.gap(k, e.At)
		k.asking = slices.Delete(k.asking, i, i+1)
	}
	k.line = slices.DeleteFunc(k.line, sameAs(e))
}

// dies ends all holds and waits of a process.
func (j *judge) dies(e Event) {
	for _, k := range j.keys {
		before := len(k.inside)
		k.inside = slices.DeleteFunc(k.inside, func(h hold) bool { return h.Process == e.Process })
		j.report.Lost += before - len(k.inside)
		if len(k.inside) < before {
			k.idle = e.At
		}
		k.asking = slices.DeleteFunc(k.asking, func(a Event) bool { return a.Process == e.Process })
		k.line = slices.DeleteFunc(k.line, func(a Event) bool { return a.Process == e.Process })
	}
}

// waited records a waiter that waited too long.
func (j *judge) waited(ask Event, until time.Time) {
	if wait := until.Sub(ask.At); j.bound > 0 && wait > j.bound {
		j.report.Starved++
		j.accuse(Starved, ask, "%s waited for %v, want at most %v", ask.name(), wait, j.bound)
	}
}

func (j *judge) accuse(rule Rule, e Event, format string, args ...any) {
	j.report.Violations = append(j.report.Violations,
		Violation{Rule: rule, Line: j.line, Key: e.Key, Text: fmt.Sprintf(format, args...)})
}

func sameAs(e Event) func(Event) bool {
	return func(other Event) bool { return other.Actor == e.Actor && other.Process == e.Process }
}

// find returns the index of the actor of e in k.inside, or -1.
func (k *key) find(e Event) int {
	return slices.IndexFunc(k.inside, func(h hold) bool { return sameAs(e)(h.Event) })
}
