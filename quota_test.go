package interlock_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
)

// inZone loads a time zone.
func inZone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// take takes a unit and reports whether one was left. Any other error fails the test.
func take(t *testing.T, q *interlock.Quota) bool {
	t.Helper()
	_, err := q.Take(t.Context())
	if err != nil && !errors.Is(err, interlock.ErrQuota) {
		t.Fatal(err)
	}
	return err == nil
}

// exhaust requires that exactly n units are left, and takes them.
func exhaust(t *testing.T, q *interlock.Quota, n int) {
	t.Helper()
	taken := 0
	for taken <= n && take(t, q) {
		taken++
	}
	if taken != n {
		t.Fatalf("%d units were left, want %d", taken, n)
	}
}

func TestQuota(t *testing.T) {
	t.Run("Do runs as many executions as there are units", func(t *testing.T) {
		client, ran := interlock.New(nil), 0
		q := client.Quota("orders:ann", 3, interlock.PerDay(nil))
		var exceeded *interlock.QuotaError
		for range 5 {
			err := q.Do(t.Context(), func(context.Context) error { ran++; return nil })
			if err != nil && !errors.As(err, &exceeded) {
				t.Fatal(err)
			}
		}
		if ran != 3 {
			t.Errorf("%d executions ran, want 3", ran)
		}
		if exceeded == nil || exceeded.Limit != 3 || exceeded.Used != 3 || exceeded.RetryAfter <= 0 || exceeded.RetryAfter > 24*time.Hour || exceeded.Key != "orders:ann" {
			t.Fatalf("the refusal is %+v", exceeded)
		}
		for _, part := range []string{`"orders:ann"`, "3 of 3", "per day (UTC)", "retry in "} {
			if !strings.Contains(exceeded.Error(), part) {
				t.Errorf("the error %q does not contain %q", exceeded, part)
			}
		}
	})
	t.Run("a failed execution keeps its unit, and GiveBack returns it", func(t *testing.T) {
		q, failed := interlock.New(nil).Quota("orders:ann", 1, interlock.PerDay(nil)), errors.New("out of stock")
		for range 3 {
			if err := q.Do(t.Context(), func(context.Context) error { return interlock.GiveBack(failed) }); !errors.Is(err, failed) || err.Error() != failed.Error() {
				t.Fatalf("the error is %v, want %v", err, failed)
			}
		}
		if err := q.Do(t.Context(), func(context.Context) error { return failed }); !errors.Is(err, failed) {
			t.Fatalf("the error is %v, want %v", err, failed)
		}
		exhaust(t, q, 0)
		if interlock.GiveBack(nil) != nil {
			t.Error("GiveBack(nil) is an error")
		}
	})
	t.Run("a unit is given back even if the context is done", func(t *testing.T) {
		q := interlock.New(nil).Quota("orders:ann", 1, interlock.Sliding(time.Hour))
		unit, err := q.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if use := unit.Usage(); use.Limit != 1 || use.Used != 1 || use.Left() != 0 || use.Next <= 0 {
			t.Errorf("the usage is %+v", use)
		}
		done, cancel := context.WithCancel(t.Context())
		cancel()
		for range 2 {
			if err := unit.GiveBack(done); err != nil {
				t.Error(err)
			}
		}
		if use, err := q.Usage(t.Context()); err != nil || use.Used != 0 || use.Left() != 1 {
			t.Errorf("the usage is %+v, error %v", use, err)
		}
	})
	t.Run("units are free again at midnight in each time zone", func(t *testing.T) {
		shanghai, newYork := inZone(t, "Asia/Shanghai"), inZone(t, "America/New_York")
		synctest.Test(t, func(t *testing.T) { // begins at midnight UTC
			client := interlock.New(nil)
			east, west := client.Quota("orders:ann", 2, interlock.PerDay(shanghai)), client.Quota("orders:ann", 2, interlock.PerDay(newYork))
			exhaust(t, east, 2)
			exhaust(t, west, 2)
			time.Sleep(5*time.Hour - time.Millisecond) // midnight in New York is 05:00 UTC
			exhaust(t, west, 0)
			time.Sleep(time.Millisecond)
			exhaust(t, west, 2)
			exhaust(t, east, 0)
			time.Sleep(11*time.Hour - time.Millisecond) // midnight in Shanghai is 16:00 UTC
			exhaust(t, east, 0)
			time.Sleep(time.Millisecond)
			exhaust(t, east, 2)
			exhaust(t, west, 0)
		})
	})
	t.Run("the engine's clock decides which day it is", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := memory.New()
			q := interlock.New(e).Quota("orders:ann", 1, interlock.PerDay(nil))
			time.Sleep(23*time.Hour + 59*time.Minute)
			exhaust(t, q, 1)
			e.Step(2 * time.Minute)
			exhaust(t, q, 1)
			time.Sleep(time.Hour) // both clocks are in the next day
			exhaust(t, q, 0)
		})
	})
	t.Run("a sliding window has no edge", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := interlock.New(nil).Quota("sms:ann", 2, interlock.Sliding(time.Minute))
			exhaust(t, q, 2)
			time.Sleep(59 * time.Second)
			exhaust(t, q, 0)
			time.Sleep(time.Second)
			if !take(t, q) {
				t.Error("no unit was left after a minute")
			}
			time.Sleep(30 * time.Second)
			exhaust(t, q, 1)
		})
	})
	t.Run("quotas with different windows are independent", func(t *testing.T) {
		client := interlock.New(nil)
		exhaust(t, client.Quota("sms:ann", 1, interlock.Sliding(time.Minute)), 1)
		exhaust(t, client.Quota("sms:ann", 1, interlock.Sliding(time.Hour)), 1)
		exhaust(t, client.Quota("sms:ann", 1, interlock.PerMonth(nil)), 1)
		exhaust(t, client.Quota("sms:ann", 1, interlock.PerWeek(nil)), 1)
		exhaust(t, client.Quota("sms:ann", 1, interlock.PerHour(nil)), 1)
		exhaust(t, client.Quota("sms:ann", 1, interlock.PerHour(time.UTC)), 0)
	})
	t.Run("days that begin together and end apart are independent", func(t *testing.T) {
		london := inZone(t, "Europe/London")
		synctest.Test(t, func(t *testing.T) {
			client := interlock.New(nil)
			time.Sleep(time.Until(time.Date(2000, time.March, 26, 0, 30, 0, 0, time.UTC))) // a day of 23 hours in London
			exhaust(t, client.Quota("sms:ann", 1, interlock.PerDay(time.UTC)), 1)
			exhaust(t, client.Quota("sms:ann", 1, interlock.PerDay(london)), 1)
		})
	})
	t.Run("with Wait, a caller waits for a unit that becomes free in time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := interlock.New(nil).Quota("api", 1, interlock.Sliding(time.Second), interlock.Wait(3*time.Second))
			start := time.Now()
			for range 3 {
				if !take(t, q) {
					t.Fatal("no unit became free")
				}
			}
			if waited := time.Since(start); waited != 2*time.Second {
				t.Errorf("three units took %v, want 2s", waited)
			}
		})
	})
	t.Run("with Wait, a unit that becomes free when the wait ends is taken", func(t *testing.T) {
		for range 20 { // two timers end at the same time, in any order
			synctest.Test(t, func(t *testing.T) {
				q := interlock.New(nil).Quota("api", 1, interlock.Sliding(time.Second), interlock.Wait(time.Second))
				for range 2 {
					if !take(t, q) {
						t.Fatal("no unit became free")
					}
				}
			})
		}
	})
	t.Run("with Wait, a request that takes longer than the wait is not cut short", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := enginetest.NewFaulty(memory.New())
			q := interlock.New(e).Quota("api", 1, interlock.Sliding(time.Minute), interlock.Wait(10*time.Millisecond))
			e.Inject(enginetest.Fault{Op: enginetest.OpTake, Do: enginetest.Delay, After: 50 * time.Millisecond})
			exhaust(t, q, 1)
		})
	})
	t.Run("with Wait, a caller does not wait in vain", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := interlock.New(nil).Quota("api", 1, interlock.Sliding(time.Minute), interlock.Wait(3*time.Second))
			start := time.Now()
			exhaust(t, q, 1)
			if waited := time.Since(start); waited != 0 {
				t.Errorf("the refusal took %v, want none", waited)
			}
		})
	})
	t.Run("many callers take exactly the limit", func(t *testing.T) {
		q := interlock.New(nil).Quota("sale", 100, interlock.PerDay(nil))
		var granted atomic.Int64
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() {
				if take(t, q) {
					granted.Add(1)
				}
			})
		}
		all.Wait()
		if n := granted.Load(); n != 100 {
			t.Errorf("%d units were granted, want 100", n)
		}
	})
}

func TestQuotaFaults(t *testing.T) {
	t.Run("a unit whose reply was lost is taken once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := enginetest.NewFaulty(memory.New())
			e.Inject(enginetest.Fault{Op: enginetest.OpTake, Do: enginetest.LoseReply, Times: 2})
			exhaust(t, interlock.New(e).Quota("orders:ann", 2, interlock.PerDay(nil)), 2)
		})
	})
	t.Run("a caller that gives up gives its unit back", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := enginetest.NewFaulty(memory.New())
			e.Inject(enginetest.Fault{Op: enginetest.OpTake, Do: enginetest.LoseReply})
			client := interlock.New(e)
			q := client.Quota("orders:ann", 1, interlock.PerDay(nil))
			if _, err := q.Take(t.Context()); !errors.Is(err, interlock.ErrOutcomeUnknown) {
				t.Fatalf("the error is %v, want %v", err, interlock.ErrOutcomeUnknown)
			}
			synctest.Wait()
			e.Heal()
			exhaust(t, q, 1)
		})
	})
	t.Run("a request that arrives late takes no unit for long", func(t *testing.T) {
		for name, use := range map[string]func(t *testing.T, e *lateQuotas, q, other *interlock.Quota){
			"after its caller has given up": func(t *testing.T, _ *lateQuotas, q, _ *interlock.Quota) {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if _, err := q.Take(ctx); !errors.Is(err, interlock.ErrOutcomeUnknown) {
					t.Fatalf("the error is %v, want %v", err, interlock.ErrOutcomeUnknown)
				}
			},
			"after its repetition was refused": func(t *testing.T, e *lateQuotas, q, other *interlock.Quota) {
				e.late.Store(false)
				unit, err := other.Take(t.Context())
				e.late.Store(true)
				if err != nil || take(t, q) {
					t.Fatalf("the unit was taken twice, or never: %v", err)
				}
				if err := unit.GiveBack(t.Context()); err != nil {
					t.Fatal(err)
				}
			},
			"after its repetition was granted and given back": func(t *testing.T, _ *lateQuotas, q, _ *interlock.Quota) {
				unit, err := q.Take(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if err := unit.GiveBack(t.Context()); err != nil {
					t.Fatal(err)
				}
			},
		} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					e := &lateQuotas{Engine: memory.New()}
					e.late.Store(true)
					q := interlock.New(e).Quota("orders:ann", 1, interlock.Sliding(24*time.Hour))
					use(t, e, q, interlock.New(e).Quota("orders:ann", 1, interlock.Sliding(24*time.Hour)))
					time.Sleep(2 * time.Minute)
					exhaust(t, q, 1)
				})
			})
		}
	})
	t.Run("a lost reply followed by an outage is an unknown outcome", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := enginetest.NewFaulty(memory.New())
			e.Inject(enginetest.Fault{Op: enginetest.OpTake, Do: enginetest.LoseReply, Times: 1})
			e.Inject(enginetest.Fault{Op: enginetest.OpTake, Do: enginetest.Refuse})
			_, err := interlock.New(e).Quota("orders:ann", 1, interlock.PerDay(nil)).Take(t.Context())
			if !errors.Is(err, interlock.ErrOutcomeUnknown) || !errors.Is(err, interlock.ErrUnavailable) {
				t.Errorf("the error is %v, want an unknown outcome and an outage", err)
			}
		})
	})
	t.Run("an engine that is down grants nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := enginetest.NewFaulty(memory.New())
			e.Inject(enginetest.Fault{Op: enginetest.OpTake, Do: enginetest.Refuse})
			start := time.Now()
			ran := false
			err := interlock.New(e).Quota("orders:ann", 1, interlock.PerDay(nil)).Do(t.Context(), func(context.Context) error { ran = true; return nil })
			if !errors.Is(err, interlock.ErrUnavailable) || errors.Is(err, interlock.ErrQuota) || ran {
				t.Errorf("the error is %v and the execution ran: %t", err, ran)
			}
			if took := time.Since(start); took > 4*time.Second {
				t.Errorf("the error took %v, want a few seconds", took)
			}
		})
	})
	t.Run("a unit that cannot be given back is reported", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := enginetest.NewFaulty(memory.New())
			e.Inject(enginetest.Fault{Op: enginetest.OpReturn, Do: enginetest.Refuse})
			failed := errors.New("out of stock")
			err := interlock.New(e).Quota("orders:ann", 1, interlock.PerDay(nil)).Do(t.Context(), func(context.Context) error { return interlock.GiveBack(failed) })
			if !errors.Is(err, failed) || !errors.Is(err, interlock.ErrUnavailable) {
				t.Errorf("the error is %v, want both errors", err)
			}
		})
	})
	t.Run("a closed client takes nothing", func(t *testing.T) {
		client := interlock.New(nil)
		if err := client.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Quota("orders:ann", 1, interlock.PerDay(nil)).Take(t.Context()); !errors.Is(err, interlock.ErrClosed) {
			t.Errorf("the error is %v, want %v", err, interlock.ErrClosed)
		}
	})
	t.Run("invalid quotas are refused", func(t *testing.T) {
		client := interlock.New(nil)
		for name, q := range map[string]*interlock.Quota{
			"no units":        client.Quota("orders:ann", 0, interlock.PerDay(nil)),
			"too many units":  client.Quota("orders:ann", 1e9, interlock.PerDay(nil)),
			"no window":       client.Quota("orders:ann", 1, interlock.Window{}),
			"an empty window": client.Quota("orders:ann", 1, interlock.Sliding(0)),
		} {
			if _, err := q.Take(t.Context()); !errors.Is(err, interlock.ErrOption) {
				t.Errorf("%s: the error is %v, want %v", name, err, interlock.ErrOption)
			}
		}
		if _, err := client.Quota("", 1, interlock.PerDay(nil)).Take(t.Context()); !errors.Is(err, interlock.ErrKey) {
			t.Errorf("no key: the error is %v, want %v", err, interlock.ErrKey)
		}
	})
	t.Run("an engine without quotas is named", func(t *testing.T) {
		_, err := interlock.New(bare{memory.New()}).Quota("orders:ann", 1, interlock.PerDay(nil)).Usage(t.Context())
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("the error is %v, want %v", err, errors.ErrUnsupported)
		}
	})
}

// lateQuotas is an engine that gets the next request for a unit 20 seconds later, if late
// is set. The caller learns nothing.
type lateQuotas struct {
	engine.Engine
	late atomic.Bool
}

func (e *lateQuotas) Capabilities() engine.Capabilities {
	caps := e.Engine.Capabilities()
	caps.Quotas = struct{ *lateQuotas }{e}
	return caps
}

// Take implements [engine.Quotas].
func (e *lateQuotas) Take(ctx context.Context, q engine.Quota) (engine.Usage, error) {
	take := func(ctx context.Context) (engine.Usage, error) { return e.Engine.Capabilities().Quotas.Take(ctx, q) }
	if !e.late.Swap(false) {
		return take(ctx)
	}
	go func() {
		time.Sleep(20 * time.Second)
		_, _ = take(context.WithoutCancel(ctx))
	}()
	return engine.Usage{}, engine.ErrUnknown
}

// Return implements [engine.Quotas].
func (e *lateQuotas) Return(ctx context.Context, q engine.Quota) (bool, error) {
	return e.Engine.Capabilities().Quotas.Return(ctx, q)
}

// bare is an engine without capabilities.
type bare struct{ engine.Engine }

func (bare) Capabilities() engine.Capabilities { return engine.Capabilities{} }

// TestWindows checks minute by minute that windows neither overlap nor leave gaps, also
// where the clock is set at midnight.
func TestWindows(t *testing.T) {
	for _, c := range []struct{ zone, from string }{
		{"UTC", "2026-12-30"},
		{"Asia/Shanghai", "2026-02-27"},
		{"America/New_York", "2026-03-07"},
		{"America/New_York", "2026-10-31"},
		{"Asia/Beirut", "2022-03-26"},         // has no midnight
		{"Asia/Beirut", "2022-10-29"},         // has midnight twice
		{"America/Sao_Paulo", "2018-11-03"},   // has no midnight
		{"Australia/Lord_Howe", "2026-04-04"}, // is set by half an hour
	} {
		loc := inZone(t, c.zone)
		begin, err := time.ParseInLocation(time.DateOnly, c.from, loc)
		if err != nil {
			t.Fatal(err)
		}
		for name, w := range map[string]interlock.Window{
			"hour": interlock.PerHour(loc), "day": interlock.PerDay(loc), "week": interlock.PerWeek(loc), "month": interlock.PerMonth(loc),
		} {
			t.Run(c.zone+" "+c.from+" "+name, func(t *testing.T) {
				var from, until time.Time
				for now := begin; now.Before(begin.Add(3 * 24 * time.Hour)); now = now.Add(time.Minute) {
					f, u := interlock.Bounds(w, now)
					switch {
					case now.Before(f) || !now.Before(u):
						t.Fatalf("%v is not in its window from %v until %v", now, f, u)
					case from.IsZero() || f.Equal(from) && u.Equal(until):
					case !f.Equal(until):
						t.Fatalf("the window from %v follows the one until %v", f, until)
					}
					from, until = f, u
				}
			})
		}
	}
	for zone, want := range map[string]string{ // clocks are set forward at midnight
		"America/Santiago": "2026-09-06 01:00:00", "America/Havana": "2026-03-08 01:00:00", "Atlantic/Azores": "2026-03-29 01:00:00",
		"Africa/Cairo": "2026-04-24 01:00:00", "America/Nuuk": "2026-03-29 00:00:00",
	} {
		loc := inZone(t, zone)
		begin, err := time.ParseInLocation(time.DateTime, want, loc)
		if err != nil {
			t.Fatal(err)
		}
		for _, now := range []time.Time{begin, begin.Add(10 * time.Hour)} {
			if from, until := interlock.Bounds(interlock.PerDay(loc), now); !from.Equal(begin) || until.In(loc).Hour() != 0 {
				t.Errorf("%s: the day of %v is from %v until %v, want from %v until midnight", zone, now, from.In(loc), until.In(loc), begin)
			}
		}
		if from, until := interlock.Bounds(interlock.PerDay(loc), begin.Add(-time.Second)); from.In(loc).Hour() != 0 || !until.Equal(begin) {
			t.Errorf("%s: the day before is from %v until %v, want until %v", zone, from.In(loc), until.In(loc), begin)
		}
	}
	utc := time.Date(2026, time.November, 18, 13, 14, 15, 16, time.UTC) // a Wednesday
	for w, want := range map[interlock.Window]string{
		interlock.PerHour(nil):  "2026-11-18 13:00:00 2026-11-18 14:00:00",
		interlock.PerDay(nil):   "2026-11-18 00:00:00 2026-11-19 00:00:00",
		interlock.PerWeek(nil):  "2026-11-16 00:00:00 2026-11-23 00:00:00",
		interlock.PerMonth(nil): "2026-11-01 00:00:00 2026-12-01 00:00:00",
	} {
		from, until := interlock.Bounds(w, utc)
		if got := from.Format(time.DateTime) + " " + until.Format(time.DateTime); got != want {
			t.Errorf("the window %v is %s, want %s", w, got, want)
		}
	}
}
