package torture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// The outcomes of a request for a unit.
const (
	unitTaken   = "taken"
	unitRefused = "refused"
	unitFailed  = "failed"
)

// takeUnits is a process that asks for many units of a quota at once.
func takeUnits(j job, c *interlock.Client) error {
	q := c.Quota(j.Key, j.Limit, interlock.Sliding(time.Hour))
	return j.callOnCommand(func() string { return takeUnit(q) })
}

func takeUnit(q *interlock.Quota) string {
	switch _, err := q.Take(context.Background()); {
	case err == nil:
		return unitTaken
	case errors.Is(err, interlock.ErrQuota):
		return unitRefused
	default:
		fmt.Fprintln(os.Stderr, "quota:", err)
		return unitFailed
	}
}

// TestQuota asks for more units than there are: in several processes, across midnight in two
// time zones, and across failovers.
func TestQuota(t *testing.T) {
	t.Run("10,000 callers in three processes take exactly the limit", func(t *testing.T) {
		quotaAtOnce(t, redistest.Start(t).URL()+"?timeout=30s", 10_000)
	})
	t.Run("units are free again at midnight by the server's clock, in each time zone", func(t *testing.T) {
		server := redistest.Start(t, redistest.SteppedClock)
		server.NeedsClock(t)
		quotaAtMidnight(t, server.URL()+"?timeout=30s", server.Step)
	})
	t.Run("no failover grants more units than the limit", func(t *testing.T) {
		sentinels := redistest.StartSentinel(t)
		quotaFailover(t, sentinels.URL()+"?acks=all&refresh=200ms", func() {
			for range 2 {
				primary := sentinels.Primary()
				primary.Kill()
				sentinels.Successor(primary)
				primary.Restart()
				sentinels.Healthy()
			}
		})
	})
}

// quotaAtOnce has callers in three processes ask for units at the same time.
func quotaAtOnce(t *testing.T, url string, callers int) {
	t.Helper()
	for _, limit := range []int{1, 3, 100} {
		group := newWorkerGroup(t, 3, job{Do: "quota", Engine: url, Key: fmt.Sprint("orders:", limit), Limit: limit})
		start := time.Now()
		got := group.callAtOnce(callers/3, callers/3, callers-2*(callers/3))
		fmt.Printf("%s: quota of %d: %v in %v\n", t.Name(), limit, got, time.Since(start).Round(time.Millisecond))
		if got[unitTaken] != limit || got[unitRefused] != callers-limit {
			t.Errorf("with a limit of %d, the outcomes are %v, want %d taken and %d refused", limit, got, limit, callers-limit)
		}
	}
}

// quotaAtMidnight moves the clock of a server through a day. The clock of this process shows
// another day.
func quotaAtMidnight(t *testing.T, url string, step func(time.Duration)) {
	t.Helper()
	e, err := openEngine(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	client := interlock.New(e)
	quotas := map[string]*interlock.Quota{}
	for _, zone := range []string{"Asia/Shanghai", "America/New_York"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		quotas[zone] = client.Quota("orders:ann", 2, interlock.PerDay(loc))
	}
	left := func(when string, want map[string]int) {
		t.Helper()
		for zone, q := range quotas {
			got := 0
			for takeUnit(q) == unitTaken {
				got++
			}
			if got != want[zone] {
				t.Errorf("%s, %d units are left in %s, want %d", when, got, zone, want[zone])
			}
		}
	}
	// 15:30 UTC is half an hour before midnight in Shanghai, and 10:30 in New York.
	step(time.Until(time.Date(2030, time.January, 15, 15, 30, 0, 0, time.UTC)))
	left("before midnight in Shanghai", map[string]int{"Asia/Shanghai": 2, "America/New_York": 2})
	left("once more", map[string]int{})
	step(31 * time.Minute)
	left("after midnight in Shanghai", map[string]int{"Asia/Shanghai": 2})
	step(13 * time.Hour) // 05:01 UTC is 00:01 in New York
	left("after midnight in New York", map[string]int{"America/New_York": 2})
}

// quotaFailover takes units while failOver kills servers that hold each unit on others.
func quotaFailover(t *testing.T, url string, failOver func()) {
	t.Helper()
	e, err := openEngine(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	const limit, workers = 400, 8
	q := interlock.New(e).Quota("orders:ann", limit, interlock.Sliding(time.Hour))
	var granted, unknown atomic.Int64
	done := make(chan struct{})
	stopped := make(chan struct{}, workers)
	for range workers {
		go func() {
			defer func() { stopped <- struct{}{} }()
			for {
				select {
				case <-done:
					return
				default:
				}
				switch _, err := q.Take(context.Background()); {
				case err == nil:
					granted.Add(1)
					time.Sleep(200 * time.Millisecond) // so that units are left after the failovers
				case errors.Is(err, interlock.ErrQuota):
					return
				case errors.Is(err, interlock.ErrOutcomeUnknown):
					unknown.Add(1)
				}
			}
		}()
	}
	for end := time.Now().Add(time.Minute); granted.Load() < 2*workers && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond) // poll interval
	}
	failOver()
	before := granted.Load()
	for range workers {
		select {
		case <-stopped:
		case <-time.After(time.Minute):
			t.Error("the units were not used up in a minute")
			close(done)
			return
		}
	}
	fmt.Printf("%s: quota of %d: %d granted, %d of them afterwards, %d unknown\n", t.Name(), limit, granted.Load(), granted.Load()-before, unknown.Load())
	if n := granted.Load(); n > limit || n < limit/2 || n == before {
		t.Errorf("%d units were granted, %d of them after the failovers; want at most %d, at least half, and some afterwards", n, n-before, limit)
	}
}
