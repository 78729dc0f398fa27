// Package demo shows the effect of locks and guards. Many goroutines click one counter,
// without and with a lock, and one order is submitted many times, without and with a
// guard. Charts and a verdict show the results.
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

// A Demo sets the size of the demo and the form of its output.
type Demo struct {
	Clicks int
	Hold   time.Duration
	Key    string

	Out      io.Writer // for the results
	Notes    io.Writer // for hints
	Language i18n.Language
	Color    chart.Color
	Width    int // of charts, in columns

	section int // number of the last heading
}

// A Target is an engine to run the demo on.
type Target struct {
	Name   string
	Engine engine.Engine // nil: the embedded engine
}

// ErrVerdict means that a lock had two holders at once, or that a guarded order was not
// placed exactly once.
var ErrVerdict = errors.New("verdict failed")

// An InterruptedError means that the context ended before the demo did.
type InterruptedError struct {
	Unreleased int // locks that may still be held
	Err        error
}

// Error implements error.
func (e *InterruptedError) Error() string { return "interrupted: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *InterruptedError) Unwrap() error { return e.Err }

// Run runs the storm without a lock and then with a lock on each target. Then it submits
// the order on each target. A failed verdict does not stop the demo: the other targets
// show whether the engine is the reason.
func (d *Demo) Run(ctx context.Context, targets ...Target) error {
	d.announce(len(targets))
	if err := d.print(d.Color.Bold("interlock demo") + "\n" + d.intro() + "\n"); err != nil {
		return err
	}
	if err := d.runUnlocked(ctx); err != nil {
		return err
	}
	failed := false
	for _, target := range targets {
		v, err := d.runLocked(ctx, target)
		if err != nil {
			return err
		}
		failed = failed || !v.OK()
	}
	for _, target := range targets {
		once, err := d.runOrder(ctx, target)
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

// announceAfter is the duration above which a demo announces how long it takes.
const announceAfter = 3 * time.Second

// announce prints how long the demo takes, if that is long.
func (d *Demo) announce(targets int) {
	// Clicks take turns on a lock. Two more holds are the orders, whose submissions
	// overlap.
	if long := time.Duration((d.Clicks+2)*targets) * d.Hold; long > announceAfter {
		fmt.Fprintln(d.Notes, d.Color.Dim(d.say(i18n.TakesLong, chart.Duration(long.Round(time.Second)))))
	}
}

// runUnlocked runs the storm without a lock.
func (d *Demo) runUnlocked(ctx context.Context) error {
	s := &Storm{Clicks: d.Clicks, Hold: d.Hold, Key: d.Key}
	if err := s.Run(ctx); err != nil {
		return interrupted(ctx, err, 0)
	}
	peak := MaxHolders(s.Events())
	// Six rows are enough to see that all goroutines work at once.
	chart := chart.Chart{Width: d.Width, Rows: 6, Color: d.Color, Alarm: peak > 1}
	return d.print(d.heading(d.say(i18n.Unlocked)) + chart.Draw(timeline(s.Events())) + "\n" + d.list([]finding{
		counted(d.Language, s.Counter(), d.Clicks),
		{judged(peak <= 1), i18n.AtOnce, d.say(i18n.AtOnceMost, peak)},
	}))
}

// runLocked runs the storm with a lock on a target. Each target gets a new client, so
// that its statistics belong to this storm.
func (d *Demo) runLocked(ctx context.Context, target Target) (Verdict, error) {
	s := &LockedStorm{
		Storm:  Storm{Clicks: d.Clicks, Hold: d.Hold, Key: d.Key},
		Engine: target.Engine,
		Locker: func(client *interlock.Client) interlock.Locker { return client.Mutex(d.Key) },
	}
	v, err := s.Run(ctx)
	if err != nil {
		return v, err
	}
	chart := chart.Chart{Width: d.Width, Rows: 24, Color: d.Color, Alarm: !v.OK()}
	legend := d.say(i18n.LegendOne)
	if each := chart.Each(d.Clicks); each > 1 {
		legend = d.say(i18n.Legend, each)
	}
	return v, d.print(d.heading(d.say(i18n.Locked, target.Name)) + chart.Draw(s.Timeline()) + d.Color.Dim(legend) + "\n\n" +
		d.list(v.findings(d.Language)) + "\n" + d.conclusion(v))
}

// closeClient closes a client within 3 s, even after ctx has ended. It does not take
// longer, because the user may have pressed Ctrl-C.
func closeClient(ctx context.Context, client *interlock.Client) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	_ = client.Close(ctx) // the tracking engine counts unreleased locks
}

// interrupted wraps err in an InterruptedError if ctx has ended. Other errors stay as
// they are: the engine failed, not the user.
func interrupted(ctx context.Context, err error, unreleased int) error {
	if ctx.Err() != nil {
		return &InterruptedError{Unreleased: unreleased, Err: err}
	}
	return err
}
