package guard

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/detach"
	"github.com/interlock-go/interlock/internal/taskgroup"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// A core is a guard without the type of its results.
type core struct {
	settings
	policy   Policy
	ledger   engine.Ledger
	patience time.Duration
	near     bool // the engine is in this process, and to ask it costs nothing

	escaped string // the policy's name as a part of a key, behind the client's prefix

	id   string        // the first part of every attempt
	seq  atomic.Uint64 // the last part of the latest
	desk *desk
	dog  watchdog.Watchdog
	now  *watchdog.Clock

	bound      detach.Bound
	background taskgroup.Group
	stats      counters
	down       outage
	local      fallback

	unstored  atomic.Int64 // results that the engine is still being told of, or was not when the guard was closed
	unguarded atomic.Int64 // work that nobody granted, and that runs

	closing chan struct{} // closed by Close
	closed  atomic.Bool   // before closing is
}

func newCore(client *interlock.Client, p Policy, s settings) (*core, error) {
	if err := errors.Join(p.Check(), errors.Join(s.errs...)); err != nil {
		return nil, err
	}
	e := client.Engine()
	caps := e.Capabilities()
	if caps.Ledger == nil {
		return nil, fmt.Errorf("guard: %T keeps no records: %w; use another engine", e, errors.ErrUnsupported)
	}
	p = p.WithDefaults()
	near := caps.InProcess && p.OnDown != Local // then it is not alone in what it knows, and the desk keeps both apart
	c := &core{
		settings: s, policy: p, ledger: caps.Ledger, patience: caps.LateGrant, near: near,
		escaped: client.Prefix() + interlock.Key(p.Name), id: rand.Text(), desk: newDesk(p, s), now: watchdog.NewClock(),
		closing: make(chan struct{}),
	}
	if near {
		c.desk.local = 0 // it is always asked
	}
	c.dog.Init(watchdog.Config{Clock: c.now, Renew: c.renew, Shard: caps.Shard, Spawn: c.background.Go})
	return c, nil
}

// attempt returns a new name for a claim, which nobody else has.
func (c *core) attempt() string {
	var room [48]byte
	return string(c.appendAttempt(room[:0]))
}

func (c *core) appendAttempt(b []byte) []byte {
	return strconv.AppendUint(append(append(b, c.id...), '-'), c.seq.Add(1), 36)
}
