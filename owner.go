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
	leaseKey struct{} // finds the innermost *lease a context carries
	ownerKey struct{} // finds the name given by WithOwner
)

// WithoutHolds returns ctx without the locks it holds. Work started with it
// stands in line like anybody else's.
func WithoutHolds(ctx context.Context) context.Context {
	return context.WithValue(ctx, leaseKey{}, (*lease)(nil))
}

// WithOwner names the owner on whose behalf locks are taken under ctx. Whoever
// bears the same name, in whatever process, may enter a lock that is held under
// it; the engine counts the entries, and the last one to leave releases it.
//
// A name is a secret shared by those who use it: who knows it gets in. An empty
// one names nobody. Under the context of a hold, [Reentrant] decides as ever.
// Those of one name who wait share a place in line; if one gives up, the others
// take a new one. Each permit of a [Semaphore] is one of its own.
func WithOwner(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, ownerKey{}, name)
}

// heldBy returns the innermost hold of key that ctx carries and that is of one of
// the given kinds, or nil. A context outlives what it carries, so those that are
// over do not count.
func heldBy(ctx context.Context, c *core, key string, kinds ...engine.Kind) *lease {
	l, _ := ctx.Value(leaseKey{}).(*lease)
	for ; l != nil; l = l.outer {
		if l.core == c && l.req.Key == key && slices.Contains(kinds, l.req.Kind) && l.live() {
			return l
		}
	}
	return nil
}

// under looks at the holds that ctx carries already. It returns another entry
// into one of them, or why there is none; otherwise the lock to ask the engine
// for, since who writes reads as the same holder.
func (m *Mutex) under(ctx context.Context) (*Mutex, *Hold, error) {
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
			writer.as = w.req.Holder
			return &writer, nil, nil
		}
	case engine.Write:
		if l := heldBy(ctx, m.core, m.key, engine.Write); l != nil {
			return m.enter(l)
		}
		if heldBy(ctx, m.core, m.key, engine.Read) != nil {
			return m, nil, fmt.Errorf("interlock: %q is read under this very context: %w", m.key, ErrUpgrade)
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

// request makes the request of a new acquisition. Its holder is one that no
// other acquisition in any process has (L1), unless ctx names an owner.
//
// Only plain locks stand in line in this process, and pass from hand to hand;
// others ask directly, and have their places at the engine.
func (m *Mutex) request(ctx context.Context, once bool) (r engine.Request, direct bool) {
	r = engine.Request{Key: m.key, Kind: m.kind, Lease: m.opts.lease, Fenced: m.opts.fenced, Limit: m.limit}
	direct = m.kind != engine.Exclusive
	if direct && !once {
		r.QueueLease = place
	}
	id := m.core.seq.Add(1)
	buf := make([]byte, 0, 64)
	buf = append(buf, m.core.id...)
	buf = append(buf, ':')
	buf = strconv.AppendUint(buf, id, 10)
	own := string(buf)
	switch name := ownerOf(ctx); {
	case m.as != "":
		r.Holder, r.Attempt = m.as, own
	case name != "":
		r.Holder, r.Attempt = ownerID(name), own
		direct = true
	default:
		r.Holder, r.Attempt = own, own[len(m.core.id)+1:]
	}
	if !direct {
		r.FenceReserve = maxHandovers
	}
	return r, direct
}

// ownerOf returns the name that ctx gives the owner, or "".
func ownerOf(ctx context.Context) string {
	name, _ := ctx.Value(ownerKey{}).(string)
	return name
}

// ownerID turns an owner's name into a holder of the usual shape.
func ownerID(name string) string {
	sum := sha256.Sum256([]byte("interlock owner\x00" + name))
	return formatUUID(sum[:16], 8) + ":0"
}

// newID returns a random id in the shape of a UUID, as Redisson's clients have.
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
