package interlock

import (
	"errors"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A plain mutex has no order across processes, so a process near the engine would
// always be granted it first. To prevent that, processes take turns. They use the
// engine's queue of fair locks: a mutex and a fair lock of the same key are one lock.
// A process queues there
//
//   - after it was overtaken maxOvertakes times: the holder changed while it
//     waited, or it was refused again soon after;
//   - after maxHandovers+1 grants in a row while other processes waited.
//
// Requests that do not queue may overtake the queue. So a process may be granted the
// lock maxHandovers+1 times while another one is in the queue, but not more often.
// The lock is held and released as an ordinary one, so that waiters of other
// libraries are notified.

const (
	// maxOvertakes is more than one because every release wakes all processes that
	// wait without a queue, and all but one of them are overtaken.
	maxOvertakes = 2

	// turnLease is the QueueLease of a request that queues for a turn. A process
	// that dies in the queue delays the others by at most this long.
	turnLease = time.Second

	// turnMemory is how long a process remembers its grants in a row, that other
	// processes want the lock, and that it was overtaken.
	turnMemory = 2 * time.Second
)

// A turn says how the next leader of a queue asks the engine.
type turn struct {
	taken  int  // grants in a row of this process
	queues bool // the request queues at the engine
}

// nextTurn returns the turn of the next leader.
func (q *waitQueue) nextTurn() turn {
	if q.turns == 0 && q.overtaken.IsZero() {
		return turn{}
	}
	return turn{q.turns, q.turns > maxHandovers || time.Now().Before(q.overtaken)}
}

// endTurn counts the grants in a row of this process when it releases the lock.
// A waiter of another process does not listen all the time, so it counts for a
// while after it was seen.
func (q *waitQueue) endTurn(g *grant, listeners int) {
	now := time.Now()
	if q.sub.active() {
		listeners--
	}
	if listeners > 0 {
		q.rivalsUntil = now.Add(turnMemory)
		q.stayQueued(now)
	}
	q.unyielded += g.handovers + 1
	q.turns = 0
	if now.Before(q.rivalsUntil) {
		q.turns = g.handovers + 1
	}
}

// takeTurn makes the request queue at the engine if a.turn says so. A single attempt
// does not queue, because it does not wait. Neither does a caller with Poll, because
// it asks too rarely to keep a position.
func (a *attempt) takeTurn() {
	if !a.turn.queues {
		return
	}
	a.turn.taken = 0 // other processes get their chance now
	if a.once || a.unqueued || a.mutex.opts.poll != nil || a.req.Kind != engine.Exclusive || !a.mutex.core.canQueue() {
		return
	}
	a.req.Kind, a.req.QueueLease = engine.Fair, turnLease
}

// turning reports whether the request queues although its lock is not [Fair].
func (a *attempt) turning() bool {
	return a.req.Kind == engine.Fair && a.mutex.kind == engine.Exclusive
}

// asHeld returns the request that later renews and releases the lock.
func (a *attempt) asHeld() engine.Request {
	r := a.req
	if a.turning() {
		r.Kind, r.QueueLease = engine.Exclusive, 0
	}
	return r
}

// overtakenBy reports whether the holder has changed while the attempt waited
// without a queue.
func (a *attempt) overtakenBy(r rival) bool {
	return !a.turning() && a.rival.holder != "" && a.rival.holder != r.holder
}

// wasRefused notes that another process has the lock. A process that was overtaken
// maxOvertakes times queues for a while. A refusal of an attempt's first request also
// counts as being overtaken, if other processes wanted the lock shortly before.
func (q *waitQueue) wasRefused(overtaken, first bool) {
	if overtaken || first && q.refused.Before(q.rivalsUntil) {
		q.overtakes++
		if q.overtakes >= maxOvertakes {
			q.overtaken = q.refused.Add(turnMemory)
		}
	}
	q.turns, q.unyielded, q.rivalsUntil = 0, 0, q.refused.Add(turnMemory)
	q.stayQueued(q.refused)
}

// stayQueued extends the time for which an overtaken process queues: other
// processes still want the lock.
func (q *waitQueue) stayQueued(now time.Time) {
	if now.Before(q.overtaken) {
		q.overtaken = now.Add(turnMemory)
	}
}

// stopTurning turns the request into an ordinary one, because the engine refuses to
// queue it. The client then queues no more requests: for instance, its Redis user lacks
// the permission. ErrKind is the exception, because it concerns only this key.
func (a *attempt) stopTurning(err error) {
	if !errors.Is(err, engine.ErrKind) {
		a.mutex.core.queueRefused.Store(true)
	}
	a.req, a.queued, a.unqueued = a.asHeld(), false, true
}

func (c *core) canQueue() bool {
	return c.caps.Has(engine.Fair) && !c.queueRefused.Load()
}
