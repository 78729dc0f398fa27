package woven_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/woven"
)

// byHand is payWoven as a programmer would write it.
//
//go:noinline
func byHand(ctx context.Context, client *interlock.Client, order string) (err error) {
	_, hold, err := client.Mutex(interlock.Key("pay", order), interlock.Reentrant(), interlock.Wait(5*time.Second)).Lock(ctx)
	if err != nil {
		return err
	}
	defer hold.Unlock()
	return nil
}

// byHandKept is byHand with options that are prepared once.
//
//go:noinline
func byHandKept(ctx context.Context, client *interlock.Client, order string) (err error) {
	_, hold, err := client.Mutex("pay:" + order).Lock(ctx)
	if err != nil {
		return err
	}
	defer hold.Unlock()
	return nil
}

//go:noinline
func payWoven(ctx context.Context, s *woven.Site, order string) (err error) {
	var call woven.Call
	defer call.Done(&err)
	call.Lock(ctx, s, woven.Key1(order), &err)
	if call.Refused {
		return
	}
	return nil
}

func BenchmarkLock(b *testing.B) {
	client := interlock.New(nil)
	ctx := interlock.NewContext(context.Background(), client)
	order := strconv.Itoa(20260101000042)
	b.Run("by hand", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = byHand(ctx, client, order)
		}
	})
	b.Run("by hand, options kept", func(b *testing.B) {
		own := client.With(interlock.Reentrant(), interlock.Wait(5*time.Second))
		b.ReportAllocs()
		for b.Loop() {
			_ = byHandKept(ctx, own, order)
		}
	})
	b.Run("woven", func(b *testing.B) {
		s := site("lock", "")
		b.ReportAllocs()
		for b.Loop() {
			_ = payWoven(ctx, s, order)
		}
	})
}

// BenchmarkEntry locks a reentrant lock that the context holds. This is so cheap that the
// cost of weaving shows.
func BenchmarkEntry(b *testing.B) {
	client := interlock.New(nil)
	ctx := interlock.NewContext(context.Background(), client)
	order := strconv.Itoa(20260101000042)
	own := client.With(interlock.Reentrant(), interlock.Wait(5*time.Second))
	ctx, hold, err := own.Mutex("pay:" + order).Lock(ctx)
	if err != nil {
		b.Fatal(err)
	}
	defer hold.Unlock()
	b.Run("by hand", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = byHand(ctx, client, order)
		}
	})
	b.Run("by hand, options kept", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = byHandKept(ctx, own, order)
		}
	})
	b.Run("woven", func(b *testing.B) {
		s := site("lock", "")
		b.ReportAllocs()
		for b.Loop() {
			_ = payWoven(ctx, s, order)
		}
	})
}

func TestAWovenCallAllocatesNoMoreThanOneByHand(t *testing.T) {
	client := interlock.New(nil)
	ctx := interlock.NewContext(t.Context(), client)
	s, own := site("lock", ""), client.With(interlock.Reentrant(), interlock.Wait(5*time.Second))
	handAllocs := testing.AllocsPerRun(200, func() { _ = byHandKept(ctx, own, "42") })
	wovenAllocs := testing.AllocsPerRun(200, func() { _ = payWoven(ctx, s, "42") })
	if wovenAllocs > handAllocs {
		t.Errorf("a woven call allocates %v times, want at most %v as in handwritten code", wovenAllocs, handAllocs)
	}
}
