package redisengine_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/redistest"
)

// A cycle is an acquisition and a release. On two cores of a virtual machine,
// server included: see docs/redis.md.
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

// Each call by itself, one at a time.
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
