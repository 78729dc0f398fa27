package standby_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/engine/standby"
)

// TestRandomSwitches lets operators switch back and forth, and die during a switch, while
// processes start, stop and lose one side or the other. A lock never has two holders
// (requirement T13).
func TestRandomSwitches(t *testing.T) {
	const seeds = 8
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &chaos{T: t, rand: rand.New(rand.NewPCG(seed, 1)), sides: [2]*memory.Engine{memory.New(), memory.New()}}
				c.run(4 * time.Minute)
			})
		})
	}
}

// chaos is a world with random events.
type chaos struct {
	*testing.T
	sides [2]*memory.Engine

	mu      sync.Mutex
	rand    *rand.Rand
	holder  string    // the current holder
	until   time.Time // until when the holder may rely on its lease
	grants  int
	changes int
}

func (c *chaos) n(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rand.IntN(n)
}

func (c *chaos) between(a, b time.Duration) time.Duration {
	return a + time.Duration(c.n(int(b-a)))
}

func (c *chaos) run(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for life := 0; ctx.Err() == nil; life++ {
				c.process(ctx, fmt.Sprintf("p%d.%d", i, life))
			}
		})
	}
	for i := range 2 {
		all.Go(func() {
			for life := 0; ctx.Err() == nil; life++ {
				c.operator(ctx, fmt.Sprintf("ops%d.%d", i, life))
			}
		})
	}
	all.Wait()
	if c.grants < 20 || c.changes < 2 {
		c.Errorf("%d grants and %d switches are too few, want at least 20 and 2", c.grants, c.changes)
	}
}

// connections returns the connections of a process to both sides.
func (c *chaos) connections() (conns [2]*enginetest.Faulty) {
	for i, m := range c.sides {
		conns[i] = enginetest.NewFaulty(m)
	}
	return conns
}

// injectFault heals a connection, and with a probability of 1/oneIn injects a fault.
func (c *chaos) injectFault(conn *enginetest.Faulty, oneIn int) {
	conn.Heal()
	if c.n(oneIn) > 0 {
		return
	}
	op := []enginetest.Op{enginetest.OpNote, enginetest.OpAcquire, enginetest.OpRenew, enginetest.OpRelease}
	action := []enginetest.Action{enginetest.Refuse, enginetest.LoseReply, enginetest.Delay, enginetest.Hang}[c.n(4)]
	for _, op := range op[:1+c.n(len(op))] {
		conn.Inject(enginetest.Fault{Op: op, Do: action, After: c.between(time.Millisecond, 3*time.Second)})
	}
}

// process is one run of a process that competes for the lock.
func (c *chaos) process(ctx context.Context, name string) {
	conns := c.connections()
	most := time.Duration(1+c.n(5)) * time.Second
	e, err := standby.New(ctx, conns[0], conns[1], standby.Name(name), standby.LongestLease(most), standby.MaxRecordAge(c.between(300*time.Millisecond, 2*time.Second)))
	if err != nil {
		return
	}
	defer func() {
		conns[0].Heal()
		conns[1].Heal()
		_ = e.Close()
		conns[0].Wait()
		conns[1].Wait()
	}()
	for i := range 20 + c.n(60) {
		if ctx.Err() != nil {
			return
		}
		c.injectFault(conns[c.n(2)], 3)
		c.work(ctx, e, engine.Request{Key: "k", Holder: fmt.Sprintf("%s:%d", name, i), Attempt: fmt.Sprintf("%s:%d", name, i), Lease: most})
	}
}

// work acquires the lock, holds it for a while, and may release it.
func (c *chaos) work(ctx context.Context, e *standby.Engine, r engine.Request) {
	bounded, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	sent := time.Now()
	if _, err := e.Acquire(bounded, r); err != nil {
		time.Sleep(c.between(time.Millisecond, 300*time.Millisecond))
		return
	}
	if !c.recordHold(r, sent) {
		return
	}
	for range c.n(6) {
		time.Sleep(min(c.between(time.Millisecond, r.Lease/3), time.Until(sent.Add(r.Lease))))
		again := time.Now()
		soon, done := context.WithTimeout(ctx, time.Second)
		err := e.Renew(soon, []engine.Request{r})[0]
		done()
		if err != nil || !c.recordHold(r, again) {
			break
		}
		sent = again
	}
	if c.n(3) > 0 {
		c.recordRelease(r)
		soon, done := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		_, _ = e.Release(soon, r)
		done()
	}
}

// recordHold records a grant or renewal of a request sent at sent, and reports whether its
// lease is still safe.
func (c *chaos) recordHold(r engine.Request, sent time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, until := time.Now(), sent.Add(r.Lease*99/100)
	if !now.Before(until) {
		return false
	}
	if c.holder != r.Holder && now.Before(c.until) {
		c.Errorf("%s was granted the lock, and %s holds it for another %v", r.Holder, c.holder, c.until.Sub(now))
	}
	c.holder, c.until = r.Holder, until
	c.grants++
	return true
}

// recordRelease records that the holder no longer relies on its lease.
func (c *chaos) recordRelease(r engine.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holder == r.Holder {
		c.until = time.Time{}
	}
}

// operator is one run of an operator.
func (c *chaos) operator(ctx context.Context, name string) {
	time.Sleep(c.between(0, 20*time.Second))
	conns := c.connections()
	e, err := standby.New(ctx, conns[0], conns[1], standby.Name(name), standby.Operator())
	if err != nil {
		return
	}
	defer func() {
		conns[0].Heal()
		conns[1].Heal()
		_ = e.Close()
		conns[0].Wait()
		conns[1].Wait()
	}()
	for range 1 + c.n(3) {
		c.injectFault(conns[c.n(2)], 2)
		if c.n(3) == 0 { // the operator may die between the two writes
			conns[c.n(2)].Inject(enginetest.Fault{Op: enginetest.OpNote, Do: enginetest.Delay, After: time.Second})
		}
		bounded, cancel := context.WithTimeout(ctx, c.between(time.Millisecond, 4*time.Second))
		report, err := e.Switch(bounded, []standby.Side{standby.Primary, standby.Standby}[c.n(2)])
		cancel()
		if err == nil && !report.Already {
			c.mu.Lock()
			c.changes++
			c.mu.Unlock()
		}
		time.Sleep(c.between(0, 3*time.Second))
	}
}
