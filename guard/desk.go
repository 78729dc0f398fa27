package guard

import (
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A desk is the in-process level (T10): it knows which keys somebody in this
// process is asking for, working on, or has just been told of, so that duplicates
// need not ask the engine.
type desk struct {
	local  time.Duration // how long an answer is good for; zero if none is
	perKey int           // how many may wait for a key
	inAll  int           // and in all

	mu      sync.Mutex
	seats   map[string]*seat
	told    []*seat // seats with an answer, oldest first
	bytes   int     // of the results they have
	spare   []*seat // seats that were left, and that nobody else knows
	waiting int
	timer   *time.Timer // forgets what nobody asks for
	armed   bool
	closed  bool
}

const (
	// mostTold and mostBytes bound what is remembered of answers: those that do
	// not fit are asked for again.
	mostTold  = 10_000
	mostBytes = 16 << 20

	// mostSpare bounds how many seats are kept to be used again. As many are told
	// as are forgotten, so that a few are enough.
	mostSpare = 16
)

func newDesk(p Policy, s settings) *desk {
	return &desk{local: p.LocalCache, perKey: s.perKey, inAll: s.inAll, seats: make(map[string]*seat)}
}

// A view is what was seen of a seat.
type view struct {
	seat    *seat
	mine    bool // whoever looked is to ask the engine
	phase   phase
	rec     engine.Record
	changed <-chan struct{}
}

// sit looks at the seat of a key, and takes it if it is free.
func (d *desk) sit(key string, now time.Time) view {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget(now)
	s := d.seats[key]
	if s == nil || s.stale(now, d.local) {
		return view{seat: d.take(key, s), mine: true}
	}
	v := view{seat: s, phase: s.phase, rec: s.rec}
	switch s.phase {
	case running:
		v.rec = s.claim.record(now)
	case told, elsewhere, scouting:
		v.rec.Left = max(0, v.rec.Left-now.Sub(s.at))
		v.rec.Age += now.Sub(s.at)
	}
	if s.phase == asking || s.phase == scouting || s.phase == running {
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		v.changed, s.known = s.changed, true
	}
	return v
}

// take makes a new seat in place of an old one, which may be nil. What that heard
// of others it goes on hearing: to listen anew would be news by itself.
func (d *desk) take(key string, old *seat) *seat {
	s := d.empty(key)
	if old != nil {
		s.wake, s.stop, old.stop = old.wake, old.stop, nil
		d.leave(old)
	}
	d.seats[key] = s
	return s
}

// empty returns a seat for a key. It is one that was used before, if there is one:
// to make one anew for every call costs more than the rest of what is done here.
func (d *desk) empty(key string) *seat {
	last := len(d.spare) - 1
	if last < 0 {
		return &seat{key: key}
	}
	s := d.spare[last]
	d.spare = d.spare[:last]
	*s = seat{key: key}
	return s
}

// run notes that somebody here works on the key.
func (d *desk) run(s *seat, c *claim) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.claim = c
	s.deafen()
	d.become(s, running)
}

// scout notes that somebody waits for another process, which has the claim.
func (d *desk) scout(s *seat, rec engine.Record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.rec, s.at = rec, time.Now()
	if s.phase == asking {
		d.become(s, scouting)
	}
}

// tell notes an answer for those who come within the next moments.
func (d *desk) tell(s *seat, rec engine.Record, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.phase == vacant {
		return
	}
	s.deafen()
	d.know(s, rec, told, now)
}

// tellElsewhere notes that another process has the claim. Once that is settled
// the answer is not good any more.
func (d *desk) tellElsewhere(s *seat, a *answer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.stop == nil {
		s.wake, s.stop = a.ledger.Watch(s.key)
	}
	d.know(s, a.rec, elsewhere, a.got)
}

func (d *desk) know(s *seat, rec engine.Record, p phase, now time.Time) {
	if d.local == 0 {
		d.leave(s) // who waits for it looks again
		return
	}
	s.rec, s.at, s.claim = rec, now, nil
	d.become(s, p)
	d.told = append(d.told, s)
	d.bytes += len(rec.Result)
	for len(d.told) > mostTold || d.bytes > mostBytes || d.closed && len(d.told) > 0 {
		d.forgetFirst()
	}
	d.arm()
}

// arm sets the timer, unless it is set or there is nothing to forget.
func (d *desk) arm() {
	switch {
	case d.armed || len(d.told) == 0:
		return
	case d.timer == nil:
		d.timer = time.AfterFunc(2*d.local, d.tidy)
	default:
		d.timer.Reset(2 * d.local)
	}
	d.armed = true
}

// tidy forgets what nobody asks for any more, so that an idle guard keeps nothing.
func (d *desk) tidy() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed = false
	d.forget(time.Now())
	d.arm()
}

// vacate gives a seat up. Those who wait for it are told err, if it concerns them
// as well, and otherwise look again.
func (d *desk) vacate(s *seat, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.err = err
	d.leave(s)
}

// evict forgets what was told of a key.
func (d *desk) evict(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.seats[key]; s != nil && (s.phase == told || s.phase == elsewhere) {
		d.leave(s)
	}
}

// why returns why a seat that was waited for has no answer; nil if it has one.
func (d *desk) why(s *seat) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return s.err
}

// forget forgets what was told so long ago that nobody seems to ask any more.
func (d *desk) forget(now time.Time) {
	for len(d.told) > 0 && (d.told[0].phase == vacant || now.Sub(d.told[0].at) >= 2*d.local) {
		d.forgetFirst()
	}
}

func (d *desk) forgetFirst() {
	s := d.told[0]
	d.told[0] = nil
	d.told = d.told[1:]
	d.bytes -= len(s.rec.Result)
	d.leave(s)
	if !s.known && len(d.spare) < mostSpare { // who has told it is done with it
		d.spare = append(d.spare, s)
	}
}

// leave takes a seat away.
func (d *desk) leave(s *seat) {
	if s.phase == vacant {
		return
	}
	if d.seats[s.key] == s { // an operator has a seat beside the one that is there
		delete(d.seats, s.key)
	}
	s.deafen()
	s.claim = nil
	d.become(s, vacant)
}

// become changes the phase of a seat and wakes who waits for it.
func (d *desk) become(s *seat, p phase) {
	s.phase = p
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// queue counts somebody who waits for a seat, and reports whether there is room.
func (d *desk) queue(s *seat) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.waiters >= d.perKey || d.waiting >= d.inAll {
		return false
	}
	s.waiters++
	d.waiting++
	return true
}

// unqueue takes back queue.
func (d *desk) unqueue(s *seat) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.waiters--
	d.waiting--
}

// close forgets all answers, and stops listening.
func (d *desk) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for len(d.told) > 0 {
		d.forgetFirst()
	}
	if d.timer != nil {
		d.timer.Stop()
	}
}
