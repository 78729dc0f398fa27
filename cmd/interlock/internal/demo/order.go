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

// An Order is one that is submitted many times at once, by somebody who clicks
// and clients that try again.
type Order struct {
	Submissions int
	Hold        time.Duration // how long it takes to place it

	placed, answered atomic.Int64
}

// Naive submits the order the way it is often written: look whether it is there,
// and place it if it is not.
func (o *Order) Naive(ctx context.Context) error {
	var there atomic.Bool
	return o.submit(ctx, func(ctx context.Context) error {
		if there.Load() {
			return nil
		}
		_, err := o.place(ctx)
		there.Store(true)
		return err
	})
}

// Guarded submits the order through g. Everybody gets the one that was placed.
func (o *Order) Guarded(ctx context.Context, g *guard.Guard[int64]) error {
	key := guard.Of("demo", rand.Text()) // new in every run: results are kept
	return o.submit(ctx, func(ctx context.Context) error {
		number, err := g.Do(ctx, key, o.place)
		if err == nil && number == 1 {
			o.answered.Add(1)
		}
		return err
	})
}

// place is what must happen once. It returns the order's number.
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

// submit lets everybody submit at once, and waits. It returns the first error.
func (o *Order) submit(ctx context.Context, one func(context.Context) error) error {
	var (
		start = make(chan struct{})
		all   sync.WaitGroup
		first = make(chan error, o.Submissions)
	)
	for range o.Submissions {
		all.Go(func() {
			<-start
			first <- one(ctx)
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

// patient is the policy of the demo's guard: whoever comes too late waits for the
// order that is being placed. It is forgotten soon, since nobody will ask again.
func patient(hold time.Duration) guard.Policy {
	return guard.Policy{Name: "demo", OnDuplicate: guard.Wait, Wait: hold + time.Minute, Retain: time.Second, MaxHold: hold + time.Minute}
}

// ordered is an act in which one order is submitted many times.
func (d *Demo) ordered(ctx context.Context, stage Stage) (ok bool, err error) {
	naive := &Order{Submissions: d.Clicks, Hold: d.Hold}
	if err := naive.Naive(ctx); err != nil {
		return false, d.ended(ctx, err, 0)
	}
	client := interlock.New(stage.Engine)
	g, err := guard.New[int64](client, patient(d.Hold))
	if err != nil {
		return false, err
	}
	once := &Order{Submissions: d.Clicks, Hold: d.Hold}
	err = once.Guarded(ctx, g)
	bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	err = errors.Join(err, g.Close(bye))
	goodbye(ctx, client)
	if err != nil {
		return false, d.ended(ctx, err, 0)
	}
	ok = once.placed.Load() == 1 && once.answered.Load() == int64(d.Clicks)
	verdict := d.Paint.Good(d.say(i18n.OncePassed))
	if !ok {
		verdict = d.Paint.Bad(d.say(i18n.OnceBroken))
	}
	return ok, d.print(d.heading(d.say(i18n.Ordered, d.Clicks, stage.Name)) + d.list([]finding{
		{judged(naive.placed.Load() == 1), i18n.LookedFirst, d.say(i18n.OrdersPlaced, naive.placed.Load())},
		{judged(once.placed.Load() == 1), i18n.WithGuard, d.say(i18n.OrdersPlaced, once.placed.Load())},
		{judged(once.answered.Load() == int64(d.Clicks)), i18n.Answered, d.say(i18n.AnsweredSame, once.answered.Load(), d.Clicks)},
		{figure, i18n.Engine, d.say(i18n.EngineClaims, g.Stats().Asked, g.Stats().Coalesced)},
	}) + "\n" + verdict + "\n")
}
