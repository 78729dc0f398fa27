package guard_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
)

// BenchmarkDo measures a first call on the memory engine, with a stored result.
func BenchmarkDo(b *testing.B) {
	g := guard.Must(guard.New[int](interlock.New(nil), guard.Policy{Name: "order", Retain: guard.DefaultLocalCache}))
	ctx, n := b.Context(), 0
	fn := func(context.Context) (int, error) { return 42, nil }
	b.ReportAllocs()
	for b.Loop() {
		n++
		if _, err := g.Do(ctx, guard.Of("ann", strconv.Itoa(n)), fn); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReplay measures a repeat, which is answered in process.
func BenchmarkReplay(b *testing.B) {
	g := guard.Must(guard.New[int](interlock.New(nil), guard.Policy{Name: "order"}))
	ctx := b.Context()
	fn := func(context.Context) (int, error) { return 42, nil }
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Do(ctx, guard.Of("ann", "1"), fn); err != nil {
			b.Fatal(err)
		}
	}
}
