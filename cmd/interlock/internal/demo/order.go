package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/guard"
)

// An Order is submitted many times at once, as by double clicks and client retries.
type Order struct {
	Submissions int
	Hold        time.Duration // how long it takes to place it

	placed, answered atomic.Int64 // executions, and submissions that got order number 1
}

// Naive submits the order with a race: it checks whether the order exists, and places it
// if not.
func (o *Order) Naive(ctx context.Context) error {
	var exists atomic.Bool
	return o.submit(ctx, func(ctx context.Context) error {
		if exists.Load() {
			return nil
		}
		_, err := o.place(ctx)
		exists.Store(true) // too late: the others have passed the check
		return err
	})
}

// Guarded submits the order through g. All submissions get the same order.
func (o *Order) Guarded(ctx context.Context, g *guard.Guard[int64]) error {
	key := guard.Of("demo", rand.Text()) // new in every run, because results are stored
	return o.submit(ctx, func(ctx context.Context) error {
		number, err := g.Do(ctx, key, o.place)
		if err == nil && number == 1 {
			o.answered.Add(1)
		}
		return err
	})
}

// place places the order and returns its number. It must run once.
func (o *Order) place(ctx context.Context) (int64, error) {
	work := time.NewTimer(o.Hold)
	defer work.Stop()
	select {
	case <-work.C:
		return o.placed.Add(1), nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// submit runs all submissions at once and waits for them. It returns the first error.
func (o *Order) submit(ctx context.Context, submitOnce func(context.Context) error) error {
	var (
		start = make(chan struct{}) // closed to release all submissions at once
		all   sync.WaitGroup
		first = make(chan error, o.Submissions) // holds every result, so that no goroutine blocks
	)
	for range o.Submissions {
		// Waited for below.
		all.Go(func() {
			<-start
			first <- submitOnce(ctx)
		})
	}
	close(start)
	all.Wait()
	close(first)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for err := range first {
		if err != nil {
			return err
		}
	}
	return nil
}

// orderPolicy makes duplicate submissions wait for the first one. Records expire soon,
// because each run has a new key.
func orderPolicy(hold time.Duration) guard.Policy {
	return guard.Policy{Name: "demo", OnDuplicate: guard.Wait, Wait: hold + time.Minute, Retain: time.Second, MaxHold: hold + time.Minute}
}

// runOrder submits an order many times, without and with a guard on a target.
func (d *Demo) runOrder(ctx context.Context, target Target) (ok bool, err error) {
	naive := &Order{Submissions: d.Clicks, Hold: d.Hold}
	if err := naive.Naive(ctx); err != nil {
		return false, interrupted(ctx, err, 0)
	}
	client := interlock.New(target.Engine)
	g, err := guard.New[int64](client, orderPolicy(d.Hold))
	if err != nil {
		return false, err
	}
	once := &Order{Submissions: d.Clicks, Hold: d.Hold}
	err = once.Guarded(ctx, g)
	// The guard closes before its client, which it uses to settle its records.
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	err = errors.Join(err, g.Close(closing))
	closeClient(ctx, client)
	if err != nil {
		return false, interrupted(ctx, err, 0)
	}
	ok = once.placed.Load() == 1 && once.answered.Load() == int64(d.Clicks)
	verdict := d.Color.Good(d.say(i18n.OncePassed))
	if !ok {
		verdict = d.Color.Bad(d.say(i18n.OnceBroken))
	}
	return ok, d.print(d.heading(d.say(i18n.Ordered, d.Clicks, target.Name)) + d.list([]finding{
		{judged(naive.placed.Load() == 1), i18n.CheckFirst, d.say(i18n.OrdersPlaced, naive.placed.Load())},
		{judged(once.placed.Load() == 1), i18n.WithGuard, d.say(i18n.OrdersPlaced, once.placed.Load())},
		{judged(once.answered.Load() == int64(d.Clicks)), i18n.Answered, d.say(i18n.AnsweredSame, once.answered.Load(), d.Clicks)},
		{figure, i18n.Engine, d.say(i18n.EngineClaims, g.Stats().Asked, g.Stats().Coalesced)},
	}) + "\n" + verdict + "\n")
}
