// Package demo shows what a lock is for: the same storm of clicks on one
// counter, without a lock and with one, as pictures. And what a guard is for: one
// order that is submitted many times at once.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/chart"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/engine"
)

// A Demo is what to show, and how.
type Demo struct {
	Clicks int
	Hold   time.Duration
	Key    string

	Out      io.Writer // what was asked for
	Chatter  io.Writer // what was not
	Language i18n.Language
	Paint    chart.Paint
	Width    int

	act int
}

// A Stage is an engine to show.
type Stage struct {
	Name   string
	Engine engine.Engine // nil for the embedded one
}

// ErrVerdict means that a storm with a lock was not one at a time, or that an order
// with a guard was not placed once.
var ErrVerdict = errors.New("verdict failed")

// An InterruptedError means that the demo ended before it was through.
type InterruptedError struct {
	Left int // locks that may not have been given back
	Err  error
}

// Error implements error.
func (e *InterruptedError) Error() string { return "interrupted: " + e.Err.Error() }

// Unwrap returns why.
func (e *InterruptedError) Unwrap() error { return e.Err }

// Run shows the storm without a lock, and then with one on each stage; and then, on
// each stage, the order.
func (d *Demo) Run(ctx context.Context, stages ...Stage) error {
	d.announce(len(stages))
	if err := d.print(d.Paint.Bold("interlock demo") + "\n" + d.intro() + "\n"); err != nil {
		return err
	}
	if err := d.unlocked(ctx); err != nil {
		return err
	}
	failed := false
	for _, stage := range stages {
		v, err := d.locked(ctx, stage)
		if err != nil {
			return err
		}
		failed = failed || !v.OK()
	}
	for _, stage := range stages {
		once, err := d.ordered(ctx, stage)
		if err != nil {
			return err
		}
		failed = failed || !once
	}
	if failed {
		return ErrVerdict
	}
	return nil
}

// patience is how long people watch nothing happen without a word.
const patience = 3 * time.Second

// announce warns of a demo that takes its time.
func (d *Demo) announce(stages int) {
	if long := time.Duration((d.Clicks+2)*stages) * d.Hold; long > patience {
		fmt.Fprintln(d.Chatter, d.Paint.Dim(d.say(i18n.Long, chart.Duration(long.Round(time.Second)))))
	}
}

// unlocked is the first act.
func (d *Demo) unlocked(ctx context.Context) error {
	s := &Storm{Clicks: d.Clicks, Hold: d.Hold, Key: d.Key}
	if err := s.Run(ctx); err != nil {
		return d.ended(ctx, err, 0)
	}
	all := spans(s.Events())
	crowd := most(all)
	chart := chart.Chart{Width: d.Width, Rows: 6, Paint: d.Paint, Alarm: crowd > 1}
	return d.print(d.heading(d.say(i18n.Unlocked)) + chart.Draw(all) + "\n" + d.list([]finding{
		counted(d.Language, s.Counter(), d.Clicks),
		{judged(crowd <= 1), i18n.AtOnce, d.say(i18n.AtOnceMost, crowd)},
	}))
}

// locked is one of the other acts.
func (d *Demo) locked(ctx context.Context, stage Stage) (Verdict, error) {
	e := watch(stage.Engine)
	client := interlock.New(e)
	s := &Storm{Clicks: d.Clicks, Hold: d.Hold, Key: d.Key, Lock: client.Mutex(d.Key)}
	err := s.Run(ctx)
	goodbye(ctx, client)
	if err != nil {
		return Verdict{}, d.ended(ctx, err, e.left())
	}
	v := Judge(s, client.Stats())
	chart := chart.Chart{Width: d.Width, Rows: 24, Paint: d.Paint, Alarm: !v.OK()}
	legend := d.say(i18n.LegendOne)
	if each := chart.Each(d.Clicks); each > 1 {
		legend = d.say(i18n.Legend, each)
	}
	return v, d.print(d.heading(d.say(i18n.Locked, stage.Name)) + chart.Draw(spans(s.Events())) + d.Paint.Dim(legend) + "\n\n" +
		d.list(v.findings(d.Language)) + "\n" + d.conclusion(v))
}

// goodbye ends a client that nobody uses any more. It is bounded, since whoever
// pressed Ctrl-C will not wait for long.
func goodbye(ctx context.Context, client *interlock.Client) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	_ = client.Close(ctx) // what it could not give back is known to who watches
}

// ended tells an interruption from a failure.
func (d *Demo) ended(ctx context.Context, err error, left int) error {
	if ctx.Err() != nil {
		return &InterruptedError{Left: left, Err: err}
	}
	return err
}
