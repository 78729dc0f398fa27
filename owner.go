package interlock

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
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
func WithOwner(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, ownerKey{}, name)
}

// heldBy returns the innermost hold of key that ctx carries, or nil. It may be
// over: a context outlives what it carries.
func heldBy(ctx context.Context, c *core, key string) *lease {
	l, _ := ctx.Value(leaseKey{}).(*lease)
	for ; l != nil; l = l.outer {
		if l.core == c && l.req.Key == key {
			return l
		}
	}
	return nil
}

// request makes the request of a new acquisition. Its holder is one that no
// other acquisition in any process has (L1), unless ctx names an owner.
func (m *Mutex) request(ctx context.Context) (r engine.Request, named bool) {
	r = engine.Request{Key: m.key, Lease: m.opts.lease, Fenced: m.opts.fenced, Room: maxHandovers}
	id := m.core.seq.Add(1)
	buf := make([]byte, 0, 64)
	buf = append(buf, m.core.id...)
	buf = append(buf, ':')
	buf = strconv.AppendUint(buf, id, 10)
	own := string(buf)
	if name := ownerOf(ctx); name != "" {
		r.Holder, r.Attempt, r.Room = ownerID(name), own, 0
		return r, true
	}
	r.Holder, r.Attempt = own, own[len(m.core.id)+1:]
	return r, false
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
