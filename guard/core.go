package guard

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/detach"
	"github.com/interlock-go/interlock/internal/taskgroup"
	"github.com/interlock-go/interlock/internal/trace"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// A core is a guard without the type of its results.
type core struct {
	settings
	policy Policy

	doneMessage Message // for a duplicate of work that is done

	engine    engine.Engine
	ledger    engine.Ledger
	lateGrant time.Duration
	inProcess bool                    // the engine runs in this process, so a call to it is cheap
	node      func(key string) string // see engine.Capabilities; may be nil

	keyPrefix string // the client's prefix and the policy's escaped name

	id       string        // the first part of every attempt's name
	seq      atomic.Uint64 // the last part of the latest name
	inflight *inflight
	watchdog watchdog.Watchdog
	clock    *watchdog.Clock

	settling detach.Source // contexts for settlements
	tasks    taskgroup.Group
	trace    *Trace
	events   trace.Queue // for events of goroutines that claims share
	stats    *counters
	tokens   *tokenTable
	outages  outages
	fallback fallback

	unstored  atomic.Int64 // results not stored yet, or not stored when the guard was closed
	unguarded atomic.Int64 // running work that has no claim

	release func()                           // unregisters the name; nil if Replacing
	client  atomic.Pointer[interlock.Client] // receives reports; nil after Close, so that the guard does not keep the client
	closing chan struct{}                    // closed by Close
	closed  atomic.Bool                      // set just before closing is closed
}

func newCore(client *interlock.Client, p Policy, s settings) (*core, error) {
	if err := errors.Join(p.Check(), errors.Join(s.errs...)); err != nil {
		return nil, err
	}
	s.traceID = client.Exemplars()
	e := client.Engine()
	caps := e.Capabilities()
	if caps.Ledger == nil {
		return nil, fmt.Errorf("guard: %T stores no records: %w; use another engine", e, errors.ErrUnsupported)
	}
	doneMessage := p.Message
	if doneMessage == nil || maps.Equal(doneMessage, DefaultMessage()) {
		doneMessage = DoneMessage()
	}
	p = p.WithDefaults()
	// With OnDown Local, the fallback grants claims as well. Then calls must go through
	// the inflight table, so that the engine and the fallback do not both grant a key.
	inProcess := caps.InProcess && p.OnDown != Local
	c := &core{
		settings: s, policy: p, stats: statsOf(client).of(p.Name), tokens: tokensOf(client), engine: e, ledger: caps.Ledger, lateGrant: caps.LateGrant, inProcess: inProcess, node: caps.Node,
		keyPrefix: client.Prefix() + interlock.Key(p.Name), id: rand.Text(), inflight: newInflight(p, s), clock: watchdog.NewClock(),
		doneMessage: doneMessage, closing: make(chan struct{}), trace: clientTrace(client),
	}
	for _, t := range s.traces {
		c.trace = c.trace.and(t)
	}
	c.events.Go = c.tasks.Go
	if inProcess {
		c.inflight.cacheFor = 0
	}
	if !s.replacing {
		release, err := client.Agree("guard "+p.Name, fmt.Sprintf("OnUnknown %q", p.OnUnknown))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrPolicy, err)
		}
		c.release = release
	}
	c.client.Store(client)
	p.warn(client, caps)
	c.watchdog.Init(watchdog.Config{Clock: c.clock, Renew: c.renew, Shard: caps.Shard, Spawn: c.tasks.Go})
	return c, nil
}

// attempt returns a name for a new claim that is unique among all processes.
func (c *core) attempt() string {
	var buf [48]byte
	return string(c.appendAttempt(buf[:0]))
}

func (c *core) appendAttempt(b []byte) []byte {
	return strconv.AppendUint(append(append(b, c.id...), '-'), c.seq.Add(1), 36)
}
