package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/weave"
)

// The rows and targets of the woven part.
const (
	wovenRow = "woven"
	keptRow  = "by hand, options kept"
	keyedRow = "by hand, options kept, interlock.Key"

	mostWovenNanos  = 50.0 // how much longer a woven call may take than the hand-written one
	mostOverlayTime = 500 * time.Millisecond
	overlaid        = 1000 // number of files in the overlay

	order42 = "20260101000042"
)

// A payment is a call of a function under its lock. The woven form is in ejected.go, as
// the weaver ejects it from testdata/payment.go.
type payment struct {
	name string
	call func(ctx context.Context, own *interlock.Client, order string) error

	nanos []float64 // nanoseconds per call, by round
	more  []float64 // nanoseconds more than the hand-written call in the same round
	calls int
	heap  uint64 // number of allocations
}

func payments() []*payment {
	return []*payment{
		{name: keptRow, call: payKept},
		{name: keyedRow, call: payKeyed},
		{name: wovenRow, call: func(ctx context.Context, _ *interlock.Client, order string) error { return payWoven(ctx, order) }},
	}
}

// payKept is [payWoven] written by hand, with a client that has the options.
//
//go:noinline
func payKept(ctx context.Context, own *interlock.Client, order string) (err error) {
	_, hold, err := own.Mutex("pay:" + order).Lock(ctx)
	if err != nil {
		return err
	}
	defer hold.Unlock() //nolint:errcheck // the usual form
	return nil
}

// payKeyed is the same with an escaped key, as in a directive.
//
//go:noinline
func payKeyed(ctx context.Context, own *interlock.Client, order string) (err error) {
	_, hold, err := own.Mutex(interlock.Key("pay", order)).Lock(ctx)
	if err != nil {
		return err
	}
	defer hold.Unlock() //nolint:errcheck // the usual form
	return nil
}

// measureWoven measures the cost of a directive, per call and per build.
func (p plan) measureWoven(ctx context.Context, out io.Writer, b *targets) error {
	all := payments()
	if err := p.measurePayments(ctx, all); err != nil {
		return err
	}
	took, err := p.measureOverlays(ctx)
	if err != nil {
		return err
	}
	b.checkWoven(all, took)
	t := &table{
		title:   "Woven: a lock on the embedded engine, 1 goroutine",
		columns: []string{"", "ns/call", "middle half", "more than by hand, ns", "middle half", "allocs/call"},
		remark: fmt.Sprintf("%d rounds. A round is the shortest of ten batches of a hundred calls. An overlay for %d files, 600 of them with a directive, in an empty cache: %.2f s (%s).",
			len(all[0].nanos), overlaid, median(took), span(took, "%.2f")),
	}
	for _, m := range all {
		t.add(m.name, fmt.Sprintf("%.0f", median(m.nanos)), half(m.nanos, "%.0f"), fmt.Sprintf("%+.0f", median(m.more)), half(m.more, "%+.0f"), per(float64(m.heap), m.calls))
	}
	t.print(out)
	return nil
}

// half prints the range of the middle half of values.
func half(values []float64, format string) string {
	sorted := slices.Sorted(slices.Values(values))
	return span(sorted[len(sorted)/4:len(sorted)-len(sorted)/4], format)
}

// measurePayments measures the rows alternately. They differ by a hundredth of a call's
// duration, and other load makes a batch longer, never shorter. So batches are short, the shortest
// of ten counts, and the order of the rows alternates.
func (p plan) measurePayments(ctx context.Context, all []*payment) error {
	client := interlock.New(nil)
	defer func() { _ = client.Close(context.WithoutCancel(ctx)) }() // nothing is held
	own := client.With(interlock.Reentrant(), interlock.Wait(5*time.Second))
	ctx = interlock.NewContext(ctx, client)
	for _, m := range all { // also warms up
		if err := m.count(ctx, own); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	for end := time.Now().Add(time.Duration(3*p.rounds) * p.slice); time.Now().Before(end); {
		best, err := bestOfTen(ctx, own, all)
		if err != nil {
			return err
		}
		for i, m := range all {
			m.nanos, m.more = append(m.nanos, best[i]), append(m.more, best[i]-best[0])
		}
	}
	return nil
}

// bestOfTen returns the shortest of ten batches of each row.
func bestOfTen(ctx context.Context, own *interlock.Client, all []*payment) ([]float64, error) {
	best := slices.Repeat([]float64{math.Inf(1)}, len(all))
	order := []int{0, 1, 2}
	for range 10 {
		for _, i := range order {
			nanos, err := all[i].batch(ctx, own)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", all[i].name, err)
			}
			best[i] = min(best[i], nanos)
		}
		slices.Reverse(order)
	}
	return best, nil
}

// batch calls a hundred times and returns the nanoseconds per call.
func (m *payment) batch(ctx context.Context, own *interlock.Client) (float64, error) {
	const calls = 100
	start := time.Now()
	for range calls {
		if err := m.call(ctx, own, order42); err != nil {
			return 0, err
		}
	}
	return float64(time.Since(start)) / calls, nil
}

// count counts the allocations of 5,000 calls. Reading the memory statistics is too slow
// to do while time is measured.
func (m *payment) count(ctx context.Context, own *interlock.Client) error {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for ; m.calls < 5000; m.calls++ {
		if err := m.call(ctx, own, order42); err != nil {
			return err
		}
	}
	runtime.ReadMemStats(&after)
	m.heap = after.Mallocs - before.Mallocs
	return nil
}

// measureOverlays makes overlays, each with an empty cache, and returns the seconds that
// each took.
func (p plan) measureOverlays(ctx context.Context) ([]float64, error) {
	dir, err := os.MkdirTemp("", "interlock-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := writeModule(filepath.Join(dir, "src")); err != nil {
		return nil, err
	}
	defer restore("XDG_CACHE_HOME", "GOWORK", "GOFLAGS")()
	var took []float64
	for round := range p.rounds {
		for name, value := range map[string]string{"XDG_CACHE_HOME": filepath.Join(dir, fmt.Sprint(round)), "GOWORK": "off", "GOFLAGS": "-mod=mod"} {
			if err := os.Setenv(name, value); err != nil {
				return nil, err
			}
		}
		start := time.Now()
		if _, err := weave.Overlay(ctx, filepath.Join(dir, "src"), nil); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start).Seconds())
	}
	return took, nil
}

// restore returns a function that resets environment variables to their present values.
func restore(names ...string) func() {
	var undo []func()
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			undo = append(undo, func() { _ = os.Setenv(name, value) })
		} else {
			undo = append(undo, func() { _ = os.Unsetenv(name) })
		}
	}
	return func() {
		for _, f := range undo {
			f()
		}
	}
}

// writeModule writes a module of 1,000 files; 600 have a directive.
func writeModule(dir string) error {
	filler := strings.Repeat("\n// This line makes the file longer.\n", 100)
	if err := write(dir, "go.mod", "module example.com/large\n\ngo 1.26.0\n"); err != nil {
		return err
	}
	for i := range overlaid {
		text := fmt.Sprintf("package p%d\n", i/10)
		if i%10 < 6 {
			text += fmt.Sprintf("\nimport (\n\t\"context\"\n\n\t_ %q\n)\n\n//interlock:lock key=id wait=3s\nfunc f%d(ctx context.Context, id string) error { return nil }\n", weave.Marker, i)
		}
		if err := write(dir, fmt.Sprintf("p%d/f%d.go", i/10, i), text+filler); err != nil {
			return err
		}
	}
	return nil
}

func write(dir, name, text string) error {
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// checkWoven checks the targets of the woven part.
func (b *targets) checkWoven(all []*payment, took []float64) {
	hand := all[0]
	i := slices.IndexFunc(all, func(m *payment) bool { return m.name == wovenRow })
	more := median(all[i].more)
	b.check(more <= mostWovenNanos, "on the embedded engine a woven call takes at most %.0f ns more than a hand-written one: %+.0f ns", mostWovenNanos, more)
	extra := float64(all[i].heap)/float64(all[i].calls) - float64(hand.heap)/float64(hand.calls)
	b.check(extra < 0.01, "a woven call with a string key allocates no more than a hand-written one: %+.2f", extra)
	b.check(median(took) < mostOverlayTime.Seconds(), "an overlay of %d files takes less than %v: %.2f s", overlaid, mostOverlayTime, median(took))
}
