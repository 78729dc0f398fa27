package interlock

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/internal/detach"
	"github.com/interlock-go/interlock/internal/taskgroup"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// A Client makes locks on one engine. It is safe for concurrent use, and one is
// enough for a process.
type Client struct {
	core *core
	opts options
}

// New returns a Client for e, or for an engine in this process if e is nil.
// Options given here apply to every lock the client makes.
//
// An engine that e wraps or uses is not closed with the client.
func New(e engine.Engine, opts ...Option) *Client {
	if e == nil {
		e = memory.New()
	}
	c := &Client{core: newCore(e), opts: options{lease: DefaultLease}.with(opts)}
	c.core.presence.init(c.core, c.opts.name)
	return c
}

// With returns a Client that applies opts, too, to every lock it makes. It
// shares everything else with c.
func (c *Client) With(opts ...Option) *Client {
	return &Client{core: c.core, opts: c.opts.with(opts)}
}

// Prefix returns what the client puts before every key; see the option [Prefix].
func (c *Client) Prefix() string { return c.opts.prefix }

// Engine returns the engine that the client was made with.
func (c *Client) Engine() engine.Engine { return c.core.engine }

// Mutex returns the lock named key. Making one is free: it has no state of its
// own, and what is wrong with key or opts shows when it is taken.
func (c *Client) Mutex(key string, opts ...Option) *Mutex {
	m := c.lock(engine.Exclusive, key, opts)
	if m.opts.fair {
		m.become(engine.Fair)
	}
	return m
}

// lock returns a lock of the given kind.
func (c *Client) lock(kind engine.Kind, key string, opts []Option) *Mutex {
	m := &Mutex{core: c.core, opts: c.opts}
	if len(opts) > 0 {
		m.opts = c.opts.with(opts)
	}
	m.key = m.opts.prefix + key
	if m.opts.err == nil {
		m.opts.err = checkKey(m.key)
	}
	m.become(kind)
	return m
}

// become makes m a lock of the given kind, if the engine has it.
func (m *Mutex) become(kind engine.Kind) {
	m.kind = kind
	if m.opts.err == nil && !m.core.caps.Has(kind) {
		m.opts.err = lacks(m.core.engine, "locks of kind "+kind.String())
	}
}

// lacks says that an engine cannot do what was asked for.
func lacks(e engine.Engine, what string) error {
	return fmt.Errorf("interlock: %T has no %s: %w; use another engine, or do without", e, what, errors.ErrUnsupported)
}

// A core is what a Client shares with those made from it.
type core struct {
	engine engine.Engine
	caps   engine.Capabilities
	id     string        // the first part of every holder
	seq    atomic.Uint64 // the last part of the latest
	clock  *watchdog.Clock

	desk      desk
	watchdog  watchdog.Watchdog
	seizures  seizures
	presence  presence
	farewells farewells
	bound     detach.Bound
	stats     counters
	warned    warned

	closing    chan struct{}   // closed by Close
	closed     atomic.Bool     // before closing is
	background taskgroup.Group // acquisitions, clean-ups and renewals on their way
}

func newCore(e engine.Engine) *core {
	c := &core{
		engine:  e,
		caps:    e.Capabilities(),
		id:      newID(),
		clock:   watchdog.NewClock(),
		closing: make(chan struct{}),
	}
	c.desk.init(c)
	c.seizures.core = c
	c.watchdog.Init(watchdog.Config{
		Clock:   c.clock,
		Renew:   c.renew,
		Shard:   c.caps.Shard,
		Spawn:   c.background.Go,
		Tick:    c.tick,
		Emptied: c.seizures.ignore,
	})
	return c
}

// warned remembers which keys have been pointed out, by name, so that a log is
// not flooded.
type warned struct {
	mu    sync.Mutex
	names map[string]struct{}
}

const mostWarned = 1000 // names; a program has fewer, or keys without names

// warn points out an untidy key, once for each name (T8).
func (c *core) warn(key string, t *Trace) {
	if t == nil || t.Warned == nil {
		return
	}
	problem := untidy(key)
	if problem == "" {
		return
	}
	name, _, _ := strings.Cut(key, ":")
	if c.warned.first(name) {
		t.Warned(Warned{Key: key, Problem: problem})
	}
}

func (w *warned) first(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, seen := w.names[name]; seen || len(w.names) >= mostWarned {
		return false
	}
	if w.names == nil {
		w.names = make(map[string]struct{})
	}
	w.names[name] = struct{}{}
	return true
}
