package redisengine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Acks says which replicas must have heard of a grant before it counts.
type Acks string

// How many replicas must have heard of a grant.
const (
	NoAcks     Acks = ""       // none: the primary's word is enough
	AnyAck     Acks = "any"    // one
	QuorumAcks Acks = "quorum" // so many that they are a majority together with the primary
	AllAcks    Acks = "all"    // all that there are
)

// check tells what is wrong with a.
func (a Acks) check() error {
	switch a {
	case NoAcks, "off", AnyAck, QuorumAcks, AllAcks:
		return nil
	}
	return fmt.Errorf("%q is none of off, any, quorum and all", string(a))
}

// Acknowledge says which replicas must have heard of a lock or a claim before it
// is granted. One that too few have heard of in time, see [AckTimeout], is given
// back, and the answer is [engine.ErrUnavailable]. The default is [NoAcks].
//
// It makes it less likely that a failover forgets a grant, but not impossible: the
// replica that is promoted may be another one. Each grant then has a connection of
// its own while it waits, and no two share a trip. It panics if a is none of those
// above.
func Acknowledge(a Acks) Option {
	if err := a.check(); err != nil {
		panic("redis: Acknowledge: " + err.Error())
	}
	if a == "off" {
		a = NoAcks
	}
	return func(e *Engine) { e.acks = a }
}

// defaultAckTimeout is how long replicas have to say that they have heard.
const defaultAckTimeout = time.Second

// AckTimeout is how long replicas have to acknowledge a grant, in whole
// milliseconds, and one at least. The default is 1 s, also for a d that is not above
// zero.
func AckTimeout(d time.Duration) Option {
	return func(e *Engine) {
		if d <= 0 {
			d = defaultAckTimeout
		}
		e.ackTimeout = max(d, time.Millisecond) // WAIT takes none at all for for ever
	}
}

// acknowledged sends a call that grants something, and waits for replicas if it is
// to. It returns how many are missing.
func (e *Engine) evalAcked(ctx context.Context, c *Call) (reply Reply, missing int, err error) {
	if e.acks == NoAcks {
		reply, err = e.client.Eval(ctx, c)
		return reply, 0, err
	}
	if c.Acks, err = e.acksNeeded(ctx, c.Keys[0]); err != nil {
		return Reply{}, 0, err
	}
	c.AckTimeout = e.ackTimeout
	reply, err = e.client.Eval(ctx, c)
	return reply, max(0, c.Acks-reply.Acked), err
}

// short is the error about a grant that too few replicas have heard of.
func acksMissing(name string, missing int, undone error) error {
	text := fmt.Sprintf("%d replicas too few have acknowledged the grant in time", missing)
	if undone != nil {
		return fail(name, fmt.Sprintf("%s, and it could not be given back: %v", text, undone), engine.ErrUnknown, undone)
	}
	return fail(name, text+", so it was given back: see that they are connected and keep up, or ask for fewer acks", engine.ErrUnavailable)
}

// giveBack undoes a grant that does not count. Its caller may have given up, or may
// ask again with the same attempt.
func (e *Engine) undoGrant(ctx context.Context, r engine.Request) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.timeout)
	defer cancel()
	_, err := e.Release(ctx, r)
	return err
}

// acksNeeded returns how many replicas must acknowledge what happens to a key.
func (e *Engine) acksNeeded(ctx context.Context, key string) (int, error) {
	if e.acks == AnyAck {
		return 1, nil
	}
	home := ""
	if e.cluster != nil {
		var err error
		if home, err = e.cluster.PrimaryFor(ctx, key); err != nil {
			return 0, &NotSentError{Err: err}
		}
	}
	n, err := e.replicas.count(home, func() (int, error) { return e.countReplicas(ctx, key) })
	var reply ReplyError
	switch {
	case errors.As(err, &reply):
		return 0, err
	case err != nil:
		return 0, &NotSentError{Err: err} // it was only the question that was sent
	}
	if e.acks == AllAcks {
		return max(1, n), nil
	}
	return max(1, (n+1)/2), nil // of n and the primary a majority, without the primary
}

// countReplicas asks the primary that has a key.
func (e *Engine) countReplicas(ctx context.Context, key string) (int, error) {
	c := e.call(replicasScript)
	defer c.free()
	c.keys(key)
	reply, err := e.client.Eval(ctx, c)
	return int(reply.Int), err
}

// replicas remembers how many each primary has. One that has been there and is
// gone is missed: it counts until the engine is opened anew.
type replicaCounts struct {
	mu     sync.Mutex
	counts map[string]int
	asked  map[string]time.Time
}

// count returns how many replicas a primary has had at most, asking at times.
func (r *replicaCounts) count(primary string, ask func() (int, error)) (int, error) {
	r.mu.Lock()
	n, fresh := r.counts[primary], time.Since(r.asked[primary]) < defaultRefresh
	r.mu.Unlock()
	if fresh {
		return n, nil
	}
	now, err := ask()
	if err != nil {
		return 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts, r.asked = make(map[string]int), make(map[string]time.Time)
	}
	n = max(r.counts[primary], now)
	r.counts[primary], r.asked[primary] = n, time.Now()
	return n, nil
}
