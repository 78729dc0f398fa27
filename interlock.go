package interlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/internal/detach"
	"github.com/interlock-go/interlock/internal/taskgroup"
	"github.com/interlock-go/interlock/internal/topk"
	"github.com/interlock-go/interlock/internal/trace"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// A Client makes locks on one engine. It is safe for concurrent use; a process
// needs only one.
type Client struct {
	core *core
	opts options
}

// New returns a Client on e, or on a new embedded engine if e is nil. The options
// apply to every lock the client makes. Closing the client does not close e.
func New(e engine.Engine, opts ...Option) *Client {
	if e == nil {
		e = memory.New()
	}
	c := &Client{core: newCore(e), opts: options{lease: DefaultLease}.with(opts)}
	c.opts.named = c.core.stats.of(c.opts.business)
	c.core.registration.init(c.core, c.opts.name)
	c.observeEngine()
	return c
}

// observeEngine calls the functions of [ObserveEngine] until the client is closed.
func (c *Client) observeEngine() {
	if c.core.caps.Observe == nil {
		return
	}
	events := &c.core.events
	for _, f := range c.opts.observers {
		run := trace.Both(nil, func(later func()) { later() }) // recovers panics of later
		stop := c.core.caps.Observe(func(call engine.ServerCall) {
			if later := f(call); later != nil {
				events.Add(func() { run(later) })
			}
		})
		c.OnClose(func(context.Context) error { stop(); return nil })
	}
}

// With returns a Client that also applies opts to every lock it makes. It
// shares everything else with c.
func (c *Client) With(opts ...Option) *Client {
	with := &Client{core: c.core, opts: c.opts.with(opts)}
	if with.opts.named == nil { // another business name
		with.opts.named = c.core.stats.of(with.opts.business)
	}
	return with
}

// Prefix returns the prefix of every key of the client; see the option [Prefix].
func (c *Client) Prefix() string { return c.opts.prefix }

// Values returns the values that [WithValue] attached for key, the latest first.
func (c *Client) Values(key any) []any {
	var values []any
	for v := c.opts.values; v != nil; v = v.next {
		if v.key == key {
			values = append(values, v.value)
		}
	}
	return values
}

// Exemplars returns the function of [WithExemplars], or nil.
func (c *Client) Exemplars() func(context.Context) string { return c.opts.traceID }

// Shared returns the value that the client keeps under key, and calls create if there is
// none yet. Packages on top of this one use it. Clients made by [Client.With] share the
// values.
func (c *Client) Shared(key any, create func() any) any {
	if v, ok := c.core.shared.Load(key); ok {
		return v
	}
	v, _ := c.core.shared.LoadOrStore(key, create())
	return v
}

// Engine returns the engine of the client.
func (c *Client) Engine() engine.Engine { return c.core.engine }

// Mutex returns the lock named key. It costs nothing and sends nothing: errors
// in key or opts are returned when the lock is acquired.
func (c *Client) Mutex(key string, opts ...Option) *Mutex {
	return c.lock(engine.Exclusive, key, opts)
}

// lock returns a lock of the given kind.
func (c *Client) lock(kind engine.Kind, key string, opts []Option) *Mutex {
	m := &Mutex{core: c.core}
	m.key, m.opts = c.named(key, opts)
	if kind == engine.Exclusive && m.opts.fair {
		kind = engine.Fair
	}
	m.setKind(kind)
	return m
}

// named returns a key with the client's prefix, and the client's options with opts.
func (c *Client) named(key string, opts []Option) (string, options) {
	o := c.opts
	if len(opts) > 0 {
		o = c.opts.with(opts)
	}
	key = o.prefix + key
	if o.err == nil {
		o.err = checkKey(key)
	}
	return key, o
}

// setKind sets the kind of the lock. It sets an error if the engine does not support
// the kind, or grants no lease of that length.
func (m *Mutex) setKind(kind engine.Kind) {
	m.kind = kind
	if m.opts.named == nil { // the client has another business name
		m.opts.named = m.core.stats.of(m.opts.business)
	}
	m.opts.counters = m.opts.named.kind(kind)
	if m.opts.err == nil && !m.core.caps.Has(kind) {
		m.opts.err = unsupported(m.core.engine, kind.String()+" locks")
	}
	if longest := m.core.caps.LongestLease; m.opts.err == nil && longest > 0 && m.opts.lease > longest {
		m.opts.err = fmt.Errorf("%w: a lease of %v is longer than the engine's limit of %v: shorten it, or raise the engine's LongestLease",
			ErrOption, m.opts.lease, longest)
	}
}

func unsupported(e engine.Engine, what string) error {
	return fmt.Errorf("interlock: %T does not support %s: %w; use another engine", e, what, errors.ErrUnsupported)
}

// defaultClient is the client of code that receives no client of its own. Woven
// code needs it, because a directive cannot name a client.
var defaultClient atomic.Pointer[Client]

// SetDefault makes c the client that [From] falls back to.
func SetDefault(c *Client) { defaultClient.Store(c) }

type clientKey struct{}

// NewContext returns a context that carries c; see [From].
func NewContext(ctx context.Context, c *Client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// From returns the client that ctx carries, or the default client: the one set
// by [SetDefault], or else a client on an embedded engine.
func From(ctx context.Context) *Client {
	if c, ok := ctx.Value(clientKey{}).(*Client); ok {
		return c
	}
	if c := defaultClient.Load(); c != nil {
		return c
	}
	defaultClient.CompareAndSwap(nil, New(nil))
	return defaultClient.Load()
}

// A core is the state that a Client shares with the clients made by With.
type core struct {
	engine engine.Engine
	caps   engine.Capabilities
	id     string        // the first part of every holder id
	seq    atomic.Uint64 // the last part of the latest holder id
	clock  *watchdog.Clock

	local        localQueue
	watchdog     watchdog.Watchdog
	revocations  revocations
	registration registration
	agreements   agreements
	closeHooks   closeHooks
	shared       sync.Map // see Shared
	detached     detach.Source
	stats        statsTable
	guardStats   counters // of the reports of guards
	longest      topk.Longest[TopHold]
	contended    topk.Counts[contention]
	warned       warned
	events       trace.Queue // for events of goroutines that locks share

	queueRefused atomic.Bool // the engine does not let plain locks queue; see stopTurning

	closing chan struct{}   // closed by Close
	closed  atomic.Bool     // set before closing is closed
	tasks   taskgroup.Group // acquisitions, clean-ups and renewals in progress
}

func newCore(e engine.Engine) *core {
	c := &core{
		engine:  e,
		caps:    e.Capabilities(),
		id:      newID(),
		clock:   watchdog.NewClock(),
		closing: make(chan struct{}),
	}
	c.events.Go = c.tasks.Go
	c.local.init(c)
	c.revocations.core = c
	c.watchdog.Init(watchdog.Config{
		Clock:   c.clock,
		Renew:   c.renew,
		Shard:   c.caps.Shard,
		Spawn:   c.tasks.Go,
		Tick:    c.tick,
		Emptied: c.revocations.unsubscribe,
	})
	return c
}
