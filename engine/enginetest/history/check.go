package history

import (
	"fmt"
	"slices"
	"time"
)

// An Option is something else that [Check] demands.
type Option func(*judge)

// Ordered demands that who asks first is granted first. Two who asked less than
// apart one after the other may have reached the engine in another order, and
// are not compared.
func Ordered(apart time.Duration) Option {
	return func(j *judge) { j.ordered, j.apart = true, apart }
}

// Within demands that everybody who does not give up is granted within bound.
func Within(bound time.Duration) Option {
	return func(j *judge) { j.bound = bound }
}

// Check judges a history: no two holds of a key overlap, and fences rise strictly
// in the order of grants.
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

// A judge reads a history once, and keeps what it needs to know for each key.
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
	asking []Event // in order
	inside []hold  // one, if all is well
	last   *Event  // the last Enter with a fence
}

// A hold is somebody inside.
type hold struct {
	Event
	depth int // how often it entered
}

func (j *judge) judge(e Event) {
	j.processes[e.Process] = true
	if e.Kind == Lost && e.Who == "" {
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
	if i := k.find(e); i >= 0 {
		k.inside[i].depth++ // it has the lock already and entered again
		k.asking = slices.DeleteFunc(k.asking, sameAs(e))
		return
	}
	j.report.Grants++
	j.grants[e.name()]++
	for _, h := range k.inside {
		j.accuse(Overlap, e, "%s entered while %s was inside", e.name(), h.name())
	}
	if e.Fence != 0 {
		if k.last != nil && e.Fence <= k.last.Fence {
			j.accuse(FenceFell, e, "%s got fence %d after %s got %d", e.name(), e.Fence, k.last.name(), k.last.Fence)
		}
		k.last = &e
	}
	j.served(k, e)
	k.inside = append(k.inside, hold{e, 1})
}

// served takes who entered out of the line, and looks at who was before it.
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
		k.inside[i].depth = 1 // all its entries end at once
	}
	if k.inside[i].depth--; k.inside[i].depth == 0 {
		k.inside = slices.Delete(k.inside, i, i+1)
	}
}

func (j *judge) stops(k *key, e Event) {
	if i := slices.IndexFunc(k.asking, sameAs(e)); i >= 0 {
		j.waited(k.asking[i], e.At)
		k.asking = slices.Delete(k.asking, i, i+1)
	}
}

// dies ends all that a process held and waited for.
func (j *judge) dies(e Event) {
	for _, k := range j.keys {
		before := len(k.inside)
		k.inside = slices.DeleteFunc(k.inside, func(h hold) bool { return h.Process == e.Process })
		j.report.Lost += before - len(k.inside)
		k.asking = slices.DeleteFunc(k.asking, func(a Event) bool { return a.Process == e.Process })
	}
}

// waited notes one who waited too long, until it was granted, gave up, or the
// history ended.
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
	return func(other Event) bool { return other.Who == e.Who && other.Process == e.Process }
}

// find returns where in k.inside the one is who did e, or -1.
func (k *key) find(e Event) int {
	return slices.IndexFunc(k.inside, func(h hold) bool { return sameAs(e)(h.Event) })
}
