package interlock

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/detach"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// A Kind is the kind of a lock, as traces and operators see it.
type Kind = engine.Kind

// The kinds of locks.
const (
	KindExclusive = engine.Exclusive // a [Mutex]
	KindFair      = engine.Fair      // a Mutex with [Fair]
	KindRead      = engine.Read      // see [RWMutex.Read]
	KindWrite     = engine.Write     // see [RWMutex.Write]
	KindPermit    = engine.Permit    // a permit of a [Semaphore]
)

// A LockInfo is a lock as operators see it.
type LockInfo struct {
	Key     string // prefix included
	Kind    Kind   // KindFair for a mutex with callers in its queue; for a read/write lock, the kind of its holders
	Holders []HolderInfo
	Waiters []WaiterInfo // in queue order

	// Listeners is the number of processes that wait for a lock without a
	// queue, as far as the engine knows.
	Listeners int
}

// A HolderInfo is a holder of a lock.
type HolderInfo struct {
	Holder string // as in [Hold.Holder]
	Kind   Kind
	Count  int           // entries, as the engine counts them
	Fence  uint64        // zero for a holder of another library
	Left   time.Duration // time left of its lease; zero if the lease does not expire
	Client *ClientInfo   // the program; nil if unknown

	// Since is when the holder acquired the lock, by the engine's clock. A process that hands the
	// lock over among its own callers counts as one holder. Zero if the engine does not
	// know.
	Since time.Time
}

// A WaiterInfo is a caller in the queue of a lock.
type WaiterInfo struct {
	Holder string // its future holder id
	Kind   Kind
	Left   time.Duration // time until its position expires, unless it asks again
	Client *ClientInfo   // the program; nil if unknown
}

// A ClientInfo describes a program that uses locks: its name, host and process.
// A [Client] registers itself when it acquires its first lock. Its registration
// expires a minute after the Client released its last lock.
type ClientInfo = engine.Member

// Locks iterates over the held locks under the client's prefix whose keys match
// pattern. The pattern excludes the prefix; * stands for any text and ? for any
// byte. An empty pattern matches all. The iteration ends with the first error. It
// may miss or repeat locks that are acquired or released meanwhile.
//
//	for lock, err := range client.Locks(ctx, "order:*") {
//
// Keys that are not locks are never listed.
func (c *Client) Locks(ctx context.Context, pattern string) iter.Seq2[LockInfo, error] {
	return func(yield func(LockInfo, error) bool) {
		for cursor := ""; ; {
			infos, next, err := c.LocksFrom(ctx, pattern, cursor)
			if err != nil {
				yield(LockInfo{}, err)
				return
			}
			for _, info := range infos {
				if !yield(info, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			cursor = next
		}
	}
}

// LocksFrom returns one page of [Client.Locks]. Start with the cursor "", and go
// on with next until it is "". The engine decides the size of a page; it may be
// empty.
func (c *Client) LocksFrom(ctx context.Context, pattern, cursor string) (locks []LockInfo, next string, err error) {
	if pattern == "" {
		pattern = "*"
	}
	i, err := c.inspector()
	var found []engine.Lock
	if err == nil {
		found, next, err = i.List(ctx, engine.Literal(c.opts.prefix)+pattern, cursor)
	}
	if err == nil {
		locks, err = withClients(ctx, i, found)
	}
	if err != nil {
		return nil, "", fmt.Errorf("interlock: list locks: %w", err)
	}
	return locks, next, nil
}

// Inspect returns the lock named key. A free lock has no holders. If the key
// holds something other than a lock, the error matches [ErrKind].
func (c *Client) Inspect(ctx context.Context, key string) (LockInfo, error) {
	return c.inspect(ctx, key, "inspect", engine.Inspector.Inspect)
}

// ForceRelease takes the lock named key from all its holders, as an operator's
// last resort, and returns the lock as it was. The lock is free at once.
//
// Each holder's context is cancelled within half a second, with [ErrRevoked] as
// the reason; on an engine without notifications, at the next renewal. If the
// lock is free, ForceRelease empties its queue; live waiters queue again. If the
// key holds something other than a lock, nothing changes and the error matches
// [ErrKind].
func (c *Client) ForceRelease(ctx context.Context, key string) (LockInfo, error) {
	return c.inspect(ctx, key, "force-release", engine.Inspector.ForceRelease)
}

func (c *Client) inspect(ctx context.Context, key, verb string, do func(engine.Inspector, context.Context, string) (engine.Lock, error)) (LockInfo, error) {
	key = c.opts.prefix + key
	fail := func(err error) error { return fmt.Errorf("interlock: %s %q: %w", verb, key, err) }
	i, err := c.inspector()
	if err == nil {
		err = checkKey(key)
	}
	if err != nil {
		return LockInfo{}, fail(err)
	}
	lock, err := do(i, ctx, key)
	if err != nil {
		return LockInfo{}, fail(err)
	}
	infos, err := withClients(ctx, i, []engine.Lock{lock})
	if err != nil { // do has succeeded; the names of programs are optional
		infos = describe([]engine.Lock{lock}, nil)
	}
	return infos[0], nil
}

func (c *Client) inspector() (engine.Inspector, error) {
	switch i := c.core.caps.Inspector; {
	case c.opts.err != nil:
		return nil, c.opts.err
	case i == nil:
		return nil, unsupported(c.core.engine, "inspection")
	default:
		return i, nil
	}
}

// withClients describes locks, with the programs of their holders and waiters.
func withClients(ctx context.Context, i engine.Inspector, locks []engine.Lock) ([]LockInfo, error) {
	seen := make(map[string]bool)
	var ids []string
	add := func(holder string) {
		if id := clientOf(holder); !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	for _, l := range locks {
		for _, h := range l.Holders {
			add(h.Name)
		}
		for _, w := range l.Waiters {
			add(w.Name)
		}
	}
	if len(ids) == 0 {
		return describe(locks, nil), nil
	}
	members, err := i.Members(ctx, ids)
	return describe(locks, members), err
}

// oldestFence is a time before Interlock's first release. A fence below it is a counter,
// not a time.
var oldestFence = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// grantedAt returns when a lock was granted. The fences of our engines are that time in
// microseconds, by the engine's clock; the fence of another engine may be a counter, and
// says nothing.
func grantedAt(fence uint64) time.Time {
	since := time.UnixMicro(int64(min(fence, math.MaxInt64))) //nolint:gosec // bounded by min
	// Fences run ahead of the clock while a lock changes hands often.
	if since.Before(oldestFence) || time.Until(since) > time.Hour {
		return time.Time{}
	}
	return since
}

func describe(locks []engine.Lock, members []engine.Member) []LockInfo {
	clients := make(map[string]*ClientInfo, len(members))
	for i, m := range members {
		clients[m.ID] = &members[i]
	}
	infos := make([]LockInfo, len(locks))
	for i, l := range locks {
		info := LockInfo{Key: l.Key, Kind: l.Kind, Listeners: l.Listeners}
		for _, h := range l.Holders {
			info.Holders = append(info.Holders, HolderInfo{Holder: h.Name, Kind: h.Kind, Count: h.Count,
				Fence: h.Fence, Left: h.Left, Since: grantedAt(h.Fence), Client: clients[clientOf(h.Name)]})
		}
		for _, w := range l.Waiters {
			info.Waiters = append(info.Waiters, WaiterInfo{Holder: w.Name, Kind: w.Kind, Left: w.Left,
				Client: clients[clientOf(w.Name)]})
		}
		infos[i] = info
	}
	return infos
}

// clientOf returns the client id that a holder id begins with.
func clientOf(holder string) string {
	if i := strings.LastIndexByte(holder, ':'); i >= 0 {
		return holder[:i]
	}
	return holder
}

// A registration makes a client known to operators while it has locks, so that
// they see the program behind a holder. It costs one call every 30 s at most.
type registration struct {
	core  *core
	name  string
	until atomic.Int64 // when the next call is due, in nanoseconds since core.clock.Base
	order sync.Mutex   // one call at a time, so that the last one wins
}

const registrationLife = 2 * DefaultLease

func (r *registration) init(c *core, name string) { r.core, r.name = c, name }

// refresh registers the client in the background, unless it did so recently.
// Locks work without a registration.
func (r *registration) refresh(now time.Time) {
	if r.core.caps.Inspector == nil || r.core.closed.Load() {
		return
	}
	at, until := int64(now.Sub(r.core.clock.Base)), r.until.Load()
	if at < until || !r.until.CompareAndSwap(until, at+int64(registrationLife/2)) {
		return
	}
	r.core.tasks.Go(func() { r.register(registrationLife) })
}

// expire lets the registration of a closed client expire.
func (r *registration) expire() {
	if r.until.Swap(0) > 0 {
		r.core.tasks.Go(func() { r.register(time.Millisecond) })
	}
}

func (r *registration) register(life time.Duration) {
	r.order.Lock()
	defer r.order.Unlock()
	if r.core.closed.Load() {
		life = time.Millisecond // a refresh may run after expire, and must not undo it
	}
	ctx, cancel := context.WithTimeout(context.Background(), detach.Timeout)
	defer cancel()
	_ = r.core.caps.Inspector.Register(ctx, r.member(), life)
}

func (r *registration) member() engine.Member {
	name := r.name
	if name == "" && len(os.Args) > 0 {
		name = filepath.Base(os.Args[0])
	}
	host, _ := os.Hostname() // optional
	return engine.Member{ID: r.core.id, Name: name, Host: host, PID: os.Getpid(), Since: r.core.clock.Base}
}

// revocations detects the locks of a client that operators have released by force.
// It subscribes while the client has leases. The watchdog's timer polls it twice a
// second, so it needs no goroutine.
type revocations struct {
	core *core
	mu   sync.Mutex
	sub  subscription
}

// poll reports whether a lock may have been revoked since the last call.
func (r *revocations) poll() bool {
	i := r.core.caps.Inspector
	if i == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.sub.active() {
		r.sub.wake, r.sub.stop = i.Watch(r.core.id)
		return true // a lock may have been revoked before the subscription
	}
	select {
	case <-r.sub.wake:
		return true
	default:
		return false
	}
}

func (r *revocations) unsubscribe() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sub.unsubscribe()
}

// review renews leases at the engine for 1 ms, and ends those that the engine no
// longer knows. A renewal never shortens a lease, so the others stay as they are.
func (r *revocations) review(leases []watchdog.Leased) {
	for batch := range slices.Chunk(leases, watchdog.MaxBatch) {
		reqs := requests(batch)
		for i := range reqs {
			reqs[i].Lease = time.Millisecond
		}
		ctx, cancel := context.WithTimeout(context.Background(), detach.Timeout)
		errs := r.core.engine.Renew(ctx, reqs)
		cancel()
		for i, x := range batch {
			if errors.Is(errs[i], engine.ErrNotHolder) {
				x.Gone(errs[i])
			}
		}
	}
}
