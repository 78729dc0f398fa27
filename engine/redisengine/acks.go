package redisengine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Acks says how many replicas must acknowledge a grant before it counts.
type Acks string

// The numbers of acknowledgements.
const (
	NoAcks     Acks = ""       // only the primary
	AnyAck     Acks = "any"    // one replica
	QuorumAcks Acks = "quorum" // a majority, including the primary
	AllAcks    Acks = "all"    // all connected replicas
)

// check accepts the constants and "off", which is how a URL writes NoAcks.
func (a Acks) check() error {
	switch a {
	case NoAcks, "off", AnyAck, QuorumAcks, AllAcks:
		return nil
	}
	return fmt.Errorf("%q is not one of off, any, quorum and all", string(a))
}

// Acknowledge sets which replicas must acknowledge a lock or a claim before it is
// granted. If too few do within [AckTimeout], the grant is undone and the call fails with
// [engine.ErrUnavailable]. Default: [NoAcks].
//
// With acknowledgements a failover is less likely to lose a grant. It still may: another
// replica may be promoted. Each grant has its own connection while it waits, and calls
// are not merged into batches. Renewals are not acknowledged, so that a replica that is
// down ends no lock. A promoted replica may therefore lack the last renewal. Acknowledge
// panics if a is not one of the constants above.
func Acknowledge(a Acks) Option {
	if err := a.check(); err != nil {
		panic("redis: Acknowledge: " + err.Error())
	}
	if a == "off" {
		a = NoAcks
	}
	return func(e *Engine) { e.acks = a }
}

const defaultAckTimeout = time.Second

// AckTimeout sets how long replicas may take to acknowledge a grant, in whole
// milliseconds. Default: 1s, also for a d that is not above zero.
func AckTimeout(d time.Duration) Option {
	return func(e *Engine) {
		if d <= 0 {
			d = defaultAckTimeout
		}
		e.ackTimeout = max(d, time.Millisecond) // WAIT takes 0 for no timeout
	}
}

// evalAcked sends a call that grants something, and waits for replicas if required. It
// returns how many acknowledgements are missing.
func (e *Engine) evalAcked(ctx context.Context, c *Call) (reply Reply, missing int, err error) {
	if e.acks == NoAcks {
		reply, err = e.eval(ctx, c)
		return reply, 0, err
	}
	// All keys of a call are in one slot, so the first decides which primary is asked.
	if c.Acks, err = e.acksNeeded(ctx, c.Keys[0]); err != nil {
		return Reply{}, 0, err
	}
	c.AckTimeout = e.ackTimeout
	reply, err = e.eval(ctx, c)
	return reply, max(0, c.Acks-reply.Acked), err
}

// acksMissing returns the error of a grant that too few replicas have acknowledged. undoErr
// is the error of undoing the grant.
func acksMissing(name string, missing int, undoErr error) error {
	text := fmt.Sprintf("%d of the required replicas did not acknowledge the grant in time", missing)
	if undoErr != nil {
		return fail(name, fmt.Sprintf("%s, and undoing it failed: %v", text, undoErr), engine.ErrUnknown, undoErr)
	}
	return fail(name, text+", so it was undone: check that they are connected and keep up, or require fewer acks", engine.ErrUnavailable)
}

// undoGrant releases a grant that does not count. It does not abandon the attempt, which
// the caller may repeat.
func (e *Engine) undoGrant(ctx context.Context, r engine.Request) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.timeout)
	defer cancel()
	_, err := e.Release(ctx, r)
	return err
}

// acksNeeded returns how many replicas must acknowledge a write to a key.
func (e *Engine) acksNeeded(ctx context.Context, key string) (int, error) {
	if e.acks == AnyAck {
		return 1, nil
	}
	primary := ""
	if e.cluster != nil {
		var err error
		if primary, err = e.cluster.PrimaryFor(ctx, key); err != nil {
			return 0, &NotSentError{Err: err}
		}
	}
	n, err := e.replicas.count(primary, func() (int, error) { return e.countReplicas(ctx, key) })
	var reply ReplyError
	switch {
	case errors.As(err, &reply):
		return 0, err
	case err != nil:
		return 0, &NotSentError{Err: err} // only the count was requested, not the grant
	}
	if e.acks == AllAcks {
		return max(1, n), nil
	}
	// A majority of n+1 servers is (n+1)/2+1, and one of them is the primary.
	return max(1, (n+1)/2), nil
}

// countReplicas asks the primary of a key how many replicas it has.
func (e *Engine) countReplicas(ctx context.Context, key string) (int, error) {
	c := e.call(replicasScript)
	defer c.free()
	c.keys(key)
	reply, err := e.eval(ctx, c)
	return int(reply.Int), err
}

// replicaCounts remembers how many replicas each primary has had. A replica that was
// removed is still required, until the engine is opened again.
type replicaCounts struct {
	mu     sync.Mutex
	counts map[string]int
	asked  map[string]time.Time // when each primary was last asked
}

// count returns the largest number of replicas that a primary has had. It asks again
// after defaultRefresh.
func (r *replicaCounts) count(primary string, ask func() (int, error)) (int, error) {
	r.mu.Lock()
	n, fresh := r.counts[primary], time.Since(r.asked[primary]) < defaultRefresh
	r.mu.Unlock()
	if fresh {
		return n, nil
	}
	// The mutex is not held: several callers may ask at once, and the largest answer
	// stays.
	current, err := ask()
	if err != nil {
		return 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts, r.asked = make(map[string]int), make(map[string]time.Time)
	}
	n = max(r.counts[primary], current)
	r.counts[primary], r.asked[primary] = n, time.Now()
	return n, nil
}
