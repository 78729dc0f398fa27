package redisengine_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// BenchmarkCycle measures an acquisition and a release. docs/redis.md has the results.
func BenchmarkCycle(b *testing.B) {
	s := redistest.Start(b)
	for _, fenced := range []bool{false, true} {
		b.Run("fenced="+strconv.FormatBool(fenced), func(b *testing.B) {
			e := open(b, s)
			var n atomic.Int64
			b.ReportAllocs()
			b.SetParallelism(128)
			b.RunParallel(func(pb *testing.PB) {
				key := "bench:" + strconv.FormatInt(n.Add(1), 10)
				r := engine.Request{Key: key, Holder: "h:1", Attempt: "a", Lease: 30 * time.Second, Fenced: fenced}
				for pb.Next() {
					if _, err := e.Acquire(context.Background(), r); err != nil {
						b.Error(err)
					}
					if _, err := e.Release(context.Background(), r); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

// BenchmarkOnce measures a claim and its settlement with a result of 100 bytes, with a new
// key each time. Package goredis compares it with a hand-written SETNX and SET.
func BenchmarkOnce(b *testing.B) {
	for _, goroutines := range []int{1, 16, 256} {
		for _, retain := range []time.Duration{0, 5 * time.Second} {
			b.Run(fmt.Sprintf("goroutines=%d/retain=%v", goroutines, retain), func(b *testing.B) {
				e := open(b, redistest.Start(b))
				benchmarkClaims(b, e.Capabilities().Ledger, goroutines, retain)
			})
		}
	}
}

func benchmarkClaims(b *testing.B, l engine.Ledger, goroutines int, retain time.Duration) {
	result := make([]byte, 100)
	var n atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for i := n.Add(1); i <= int64(b.N); i = n.Add(1) {
				c := engine.Claim{Key: "bench:" + strconv.FormatInt(i, 10), Attempt: "c0ffee00-0000-4000-8000-000000000001:1",
					Fingerprint: "8b1a9953c4611296", Lease: 30 * time.Second, Retain: retain}
				if r, err := l.Claim(context.Background(), c); err != nil || !r.Granted {
					b.Errorf("claim: %+v, %v; want a grant", r, err)
				}
				o, err := l.Settle(context.Background(), engine.Settlement{
					Key: c.Key, Attempt: c.Attempt, Outcome: engine.Done, Result: result, Retain: 5 * time.Second,
				})
				if err != nil || o != engine.Released {
					b.Errorf("settle: %v, %v; want %v", o, err, engine.Released)
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "cycles/s")
}

// BenchmarkCall measures calls that do not overlap.
func BenchmarkCall(b *testing.B) {
	s := redistest.Start(b)
	e := open(b, s)
	r := engine.Request{Key: "bench", Holder: "h:1", Attempt: "a", Lease: 30 * time.Second}
	b.Run("acquire and release", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = e.Acquire(context.Background(), r)
			_, _ = e.Release(context.Background(), r)
		}
	})
	b.Run("release of a free lock", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = e.Release(context.Background(), r)
		}
	})
}
