package memory

import "github.com/interlock-go/interlock/engine"

// ears are the channels on which waiters listen, by what they listen for.
type ears map[topic]map[chan struct{}]struct{}

// A topic is what is told together: the release of a lock, or that one who stands
// in line comes next, or that a latch has opened, or that something was seized
// from a client, or that a claim was settled.
type topic struct {
	key    string // or the client's ID
	seat   seat   // of a lock, its family; of one in line, all of it
	client bool
	record bool
}

// topicOf is what r listens for. Those who wait to read or write are told
// together: readers come in together, too.
func topicOf(r engine.Request) topic {
	if r.Kind == engine.Fair || r.Kind == engine.Permit {
		return topic{key: r.Key, seat: seatOf(r)}
	}
	return topic{key: r.Key, seat: seat{kind: family(r.Kind)}}
}

// Notify implements [engine.Notifier].
func (e *Engine) Notify(r engine.Request) (wake <-chan struct{}, stop func()) {
	return e.listen(topicOf(r))
}

func (e *Engine) listen(t topic) (wake <-chan struct{}, stop func()) {
	s, _ := e.enter(t.key)
	defer s.mu.Unlock()

	ear := make(chan struct{}, 1)
	ear <- struct{}{} // it may have happened before
	if s.ears[t] == nil {
		s.ears[t] = make(map[chan struct{}]struct{})
	}
	s.ears[t][ear] = struct{}{}
	return ear, func() { e.deafen(t, ear) }
}

func (e *Engine) deafen(t topic, ear chan struct{}) {
	s, _ := e.enter(t.key)
	defer s.mu.Unlock()
	delete(s.ears[t], ear)
	if len(s.ears[t]) == 0 {
		delete(s.ears, t)
	}
}

// wake tells all who listen for t, and returns how many they are. One who has
// not yet taken the last notice needs no other.
func (x ears) wake(t topic) int {
	if len(x) == 0 {
		return 0
	}
	for ear := range x[t] {
		select {
		case ear <- struct{}{}:
		default:
		}
	}
	return len(x[t])
}

// beckon tells who may be granted the lock of that family now: whoever takes its
// chance, and the first in line, with those before it whose places have run out:
// they may be alive. It returns how many they are.
func (s *shard) beckon(key string, kind engine.Kind, now int64) (told int) {
	told = s.ears.wake(topic{key: key, seat: seat{kind: kind}})
	q := s.kept.lines[lineID{key, kind}]
	if q == nil {
		return told
	}
	for _, w := range q.waiters {
		told += s.ears.wake(topic{key: key, seat: w.seat()})
		if !w.over(now) {
			break
		}
	}
	return told
}
