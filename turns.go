package interlock

import (
	"errors"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A plain mutex has no order across processes, so a process near the engine would
// always be granted the lock first. To prevent that, processes take turns. They use the
// engine's queue of fair locks, because a mutex and a fair lock of the same key are one
// lock. A process queues there
//
//   - after other processes overtook it maxOvertakes times;
//   - after maxHandovers+1 grants in a row while other processes waited.
//
// An overtake is a change of the holder while the process waits. A refusal of a new
// attempt's first request also counts, if other processes wanted the lock shortly before.
//
// Requests that do not queue may overtake the queue. So a process may be granted the
// lock maxHandovers+1 times while another process is in the queue, but not more often.
// Such a lock is renewed and released like one that was acquired without the queue, so
// that waiters of other libraries are notified.

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

// A turn says how the next leader of a waitQueue asks the engine. The leader is the
// goroutine that asks for all waiters of this process.
type turn struct {
	grantsInRow int  // of this process
	queues      bool // the request queues at the engine
}

// nextTurn returns the turn of the next leader.
func (q *waitQueue) nextTurn() turn {
	if q.grantsInRow == 0 && q.queueUntil.IsZero() {
		return turn{}
	}
	return turn{q.grantsInRow, q.grantsInRow > maxHandovers || time.Now().Before(q.queueUntil)}
}

// endTurn counts the grants in a row of this process when it releases the lock.
// Waiters of other processes do not listen all the time. So endTurn assumes that they
// still wait for turnMemory after it last saw a listener.
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
	q.grantsInRow = 0
	if now.Before(q.rivalsUntil) {
		q.grantsInRow = g.handovers + 1
	}
}

// takeTurn makes the request queue at the engine if a.turn says so. A single attempt
// does not queue, because it does not wait. Neither does a caller with Poll, because
// it asks too rarely to keep a position.
func (a *attempt) takeTurn() {
	if !a.turn.queues {
		return
	}
	a.turn.grantsInRow = 0 // other processes get their chance now
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
// maxOvertakes times queues for a while.
func (q *waitQueue) wasRefused(overtaken, first bool) {
	if overtaken || first && q.refusedAt.Before(q.rivalsUntil) {
		q.overtakes++
		if q.overtakes >= maxOvertakes {
			q.queueUntil = q.refusedAt.Add(turnMemory)
		}
	}
	q.grantsInRow, q.unyielded, q.rivalsUntil = 0, 0, q.refusedAt.Add(turnMemory)
	q.stayQueued(q.refusedAt)
}

// stayQueued extends the time for which an overtaken process queues, because other
// processes still want the lock.
func (q *waitQueue) stayQueued(now time.Time) {
	if now.Before(q.queueUntil) {
		q.queueUntil = now.Add(turnMemory)
	}
}

// stopTurning turns the request into an ordinary one, because the engine refuses to
// queue it. The cause usually affects all keys; for example, the Redis user lacks a
// permission. So the client queues no more requests. The exception is ErrKind, which
// concerns only this key.
func (a *attempt) stopTurning(err error) {
	if !errors.Is(err, engine.ErrKind) {
		a.mutex.core.queueRefused.Store(true)
	}
	a.req, a.queued, a.unqueued = a.asHeld(), false, true
}

func (c *core) canQueue() bool {
	return c.caps.Has(engine.Fair) && !c.queueRefused.Load()
}
