package history

import (
	"fmt"
	"slices"
	"time"
)

// An Option is another requirement of [Check].
type Option func(*judge)

// Ordered requires that requests are granted in order of arrival. Two requests are not
// compared if less time than apart lies between them, because they may have reached the
// engine in another order.
func Ordered(apart time.Duration) Option {
	return func(j *judge) { j.ordered, j.apart = true, apart }
}

// Within requires that every wait ends within bound, with a grant or without.
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
	grants    map[string]int // by actor
	processes map[string]bool
	waits     []time.Duration
	report    Report
}

// A key is the state of one lock.
type key struct {
	asking []Event   // requests without a grant, in order
	queue  []Event   // the engine's queue
	inside []hold    // the current holders: one, or several readers
	last   *Event    // the last exclusive Enter with a fence
	read   *Event    // the shared Enter with the highest fence
	idle   time.Time // since when the lock is free
}

// A hold is a current holder.
type hold struct {
	Event
	depth     int // how often it entered
	exclusive int // how many of these entries are exclusive
}

// admits reports whether e may enter during h.
func (h hold) admits(e Event) bool { return e.Shared && h.exclusive == 0 }

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
		j.queues(k, e)
	default:
		j.accuse(Malformed, e, "%q is not a kind of event", e.Kind)
	}
}

func (j *judge) asks(k *key, e Event) {
	j.report.Asks++
	j.grants[e.name()] += 0 // an actor without a grant counts as well
	if slices.ContainsFunc(k.asking, sameAs(e)) {
		j.accuse(Malformed, e, "%s asks twice at a time", e.name())
		return
	}
	k.asking = append(k.asking, e)
}

func (j *judge) enters(k *key, e Event) {
	i := k.find(e)
	if i < 0 || !e.Shared && k.inside[i].exclusive == 0 { // a new holder, or a reader that begins to write
		for other, h := range k.inside {
			if other != i && !h.admits(e) {
				j.accuse(Overlap, e, "%s entered while %s was inside", e.name(), h.name())
			}
		}
	}
	if i >= 0 { // the actor holds the lock and enters again
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
		h.exclusive++
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
		return // no Ask was recorded
	}
	ask := k.asking[i]
	j.waited(ask, e.At)
	j.waits = append(j.waits, e.At.Sub(ask.At))
	for _, earlier := range k.asking[:i] {
		if j.ordered && ask.At.Sub(earlier.At) > j.apart {
			j.accuse(OutOfOrder, e, "%s asked %v earlier and still waits when %s enters",
				earlier.name(), ask.At.Sub(earlier.At), e.name())
			break // one is enough
		}
	}
	k.asking = slices.Delete(k.asking, i, i+1)
}

func (j *judge) leaves(k *key, e Event) {
	i := k.find(e)
	if i < 0 {
		j.accuse(Malformed, e, "%s leaves or loses a lock that it does not hold", e.name())
		return
	}
	if e.Kind == Lost {
		j.report.Lost++
		k.inside[i].depth, k.inside[i].exclusive = 1, 0 // all its entries end at once
	} else if !e.Shared {
		k.inside[i].exclusive--
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
	k.queue = slices.DeleteFunc(k.queue, sameAs(e))
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
		k.queue = slices.DeleteFunc(k.queue, func(a Event) bool { return a.Process == e.Process })
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
