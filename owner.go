package interlock

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"

	"github.com/interlock-go/interlock/engine"
)

type (
	leaseKey struct{} // the innermost *lease a context carries
	ownerKey struct{} // the name set by WithOwner
)

// WithoutHolds returns ctx without the locks it holds. Work started with it
// waits for those locks like any other caller.
func WithoutHolds(ctx context.Context) context.Context {
	return context.WithValue(ctx, leaseKey{}, (*lease)(nil))
}

// WithOwner names the owner of the locks that are acquired under ctx. Callers
// with the same name, in any process, may enter a lock that the owner holds. The
// engine counts the entries; the last Unlock releases the lock.
//
// The name is a shared secret: any caller that knows it can enter. An empty name
// means no owner. Under the context of a hold, [Reentrant] decides as usual.
// Waiters of one owner share a queue position; when one of them gives up, the
// others get a new position. Each permit of a [Semaphore] is acquired
// separately, whatever the owner.
func WithOwner(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, ownerKey{}, name)
}

// heldBy returns the innermost live lease of key that ctx carries and whose kind
// is one of kinds, or nil. A context outlives its leases, so it may carry some
// that have ended.
func heldBy(ctx context.Context, c *core, key string, kinds ...engine.Kind) *lease {
	l, _ := ctx.Value(leaseKey{}).(*lease)
	for ; l != nil; l = l.outer {
		if l.core == c && l.req.Key == key && slices.Contains(kinds, l.req.Kind) && l.live() {
			return l
		}
	}
	return nil
}

// reenter looks for the lock among the holds of ctx. It returns a new entry into one of
// them, an error if re-entry is refused, or else the lock to acquire. If ctx holds the
// write lock and asks for the read lock, the lock to acquire has the writer's holder id.
func (m *Mutex) reenter(ctx context.Context) (*Mutex, *Hold, error) {
	if ctx.Value(leaseKey{}) == nil {
		return m, nil, nil
	}
	switch m.kind {
	case engine.Read:
		if l := heldBy(ctx, m.core, m.key, engine.Read); l != nil {
			return m.enter(l)
		}
		if w := heldBy(ctx, m.core, m.key, engine.Write); w != nil {
			writer := *m
			writer.holder = w.req.Holder
			return &writer, nil, nil
		}
	case engine.Write:
		if l := heldBy(ctx, m.core, m.key, engine.Write); l != nil {
			return m.enter(l)
		}
		if heldBy(ctx, m.core, m.key, engine.Read) != nil {
			return m, nil, fmt.Errorf("interlock: acquire %q: this context holds the read lock: %w", m.key, ErrUpgrade)
		}
	case engine.Permit:
		if l := heldBy(ctx, m.core, m.key, engine.Permit); l != nil && m.opts.reentrant {
			return m.enter(l)
		}
	default:
		if l := heldBy(ctx, m.core, m.key, engine.Exclusive, engine.Fair); l != nil {
			return m.enter(l)
		}
	}
	return m, nil, nil
}

func (m *Mutex) enter(l *lease) (*Mutex, *Hold, error) {
	hold, err := l.enter(m.opts.reentrant)
	return m, hold, err
}

// newRequest returns the engine request of a new acquisition. Its holder id is
// unique across processes, unless ctx names an owner. Direct requests bypass the
// local queue: they queue at the engine and are never handed over.
func (m *Mutex) newRequest(ctx context.Context, once bool) (r engine.Request, direct bool) {
	r = engine.Request{Key: m.key, Kind: m.kind, Lease: m.opts.lease, Fenced: m.opts.fenced, Limit: m.limit}
	direct = m.kind != engine.Exclusive
	if direct && !once {
		r.QueueLease = queueLease
	}
	seq := m.core.seq.Add(1)
	buf := make([]byte, 0, 64)
	buf = append(buf, m.core.id...)
	buf = append(buf, ':')
	buf = strconv.AppendUint(buf, seq, 10)
	fullID := string(buf)
	switch name := ownerOf(ctx); {
	case m.holder != "":
		r.Holder, r.Attempt = m.holder, fullID
	case name != "":
		r.Holder, r.Attempt = ownerID(name), fullID
		direct = true
	default:
		r.Holder, r.Attempt = fullID, fullID[len(m.core.id)+1:]
	}
	if !direct {
		r.FenceReserve = maxHandovers
	}
	return r, direct
}

// ownerOf returns the owner that ctx names, or "".
func ownerOf(ctx context.Context) string {
	name, _ := ctx.Value(ownerKey{}).(string)
	return name
}

// ownerID turns an owner's name into a holder id of the usual form. Hashing
// keeps the name secret from operators.
func ownerID(name string) string {
	sum := sha256.Sum256([]byte("interlock owner\x00" + name))
	return formatUUID(sum[:16], 8) + ":0"
}

// newID returns a random UUID, the form that Redisson's client ids have.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return formatUUID(b[:], 4)
}

func formatUUID(b []byte, version byte) string {
	b[6] = b[6]&0x0f | version<<4
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
