package interlock_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/interlock-go/interlock"
)

// These benchmarks use the embedded engine, so that they measure the client.

// BenchmarkOneKey contends one lock with a goroutine per processor.
func BenchmarkOneKey(b *testing.B) {
	m := interlock.New(nil).Mutex("k:1")
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_, hold, _ := m.Lock(context.Background())
			_ = hold.Unlock()
		}
	})
}

// BenchmarkOneKeyEach acquires uncontended locks.
func BenchmarkOneKeyEach(b *testing.B) {
	c := interlock.New(nil)
	keys := make(chan string, 1000)
	for i := range cap(keys) {
		keys <- "k:" + strconv.Itoa(i)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		m := c.Mutex(<-keys)
		for pb.Next() {
			_, hold, _ := m.Lock(context.Background())
			_ = hold.Unlock()
		}
	})
}

// BenchmarkReentry enters a held lock again.
func BenchmarkReentry(b *testing.B) {
	m := interlock.New(nil).Mutex("k:1", interlock.Reentrant())
	ctx, outer, _ := m.Lock(context.Background())
	b.ReportAllocs()
	for b.Loop() {
		_, hold, _ := m.Lock(ctx)
		_ = hold.Unlock()
	}
	_ = outer.Unlock()
}
