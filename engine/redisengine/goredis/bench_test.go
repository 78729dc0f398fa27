package goredis_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// size is the length of a result, in bytes.
const size = 100

// BenchmarkOnce compares a claim and its settlement, with a new key each time, with a
// hand-written SETNX and SET.
func BenchmarkOnce(b *testing.B) {
	result := make([]byte, size)
	ledger := func(l engine.Ledger) func(key string) error {
		return func(key string) error {
			c := engine.Claim{Key: key, Attempt: "c0ffee00-0000-4000-8000-000000000001:1", Fingerprint: "8b1a9953c4611296", Lease: 30 * time.Second}
			if _, err := l.Claim(context.Background(), c); err != nil {
				return err
			}
			_, err := l.Settle(context.Background(), engine.Settlement{
				Key: c.Key, Attempt: c.Attempt, Outcome: engine.Done, Result: result, Retain: 5 * time.Second,
			})
			return err
		}
	}
	contenders := []struct {
		name string
		open func(b *testing.B, s *redistest.Server) func(key string) error
	}{
		{"by hand", func(b *testing.B, s *redistest.Server) func(key string) error {
			client := redis.NewClient(&redis.Options{Addr: s.Addr()})
			b.Cleanup(func() { _ = client.Close() })
			return func(key string) error {
				if err := client.SetNX(context.Background(), "lock:"+key, "1", 30*time.Second).Err(); err != nil {
					return err
				}
				return client.Set(context.Background(), "result:"+key, result, 5*time.Second).Err()
			}
		}},
		{"go-redis", func(b *testing.B, s *redistest.Server) func(key string) error {
			e, _ := open(b, &redis.Options{Addr: s.Addr()})
			return ledger(e.Capabilities().Ledger)
		}},
		{"rueidis", func(b *testing.B, s *redistest.Server) func(key string) error {
			e, err := redisengine.Open(context.Background(), s.URL())
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = e.Close() })
			return ledger(e.Capabilities().Ledger)
		}},
	}
	for _, goroutines := range []int{1, 16, 256} {
		for _, c := range contenders {
			b.Run(fmt.Sprintf("goroutines=%d/%s", goroutines, c.name), func(b *testing.B) {
				s := redistest.Start(b)
				cycle := c.open(b, s)
				before, ownBefore := serverCPU(b, s), ownCPU(b)
				cycles(b, goroutines, cycle)
				b.ReportMetric((serverCPU(b, s)-before).Seconds()*1e6/float64(b.N), "server-µs/cycle")
				b.ReportMetric((ownCPU(b)-ownBefore).Seconds()*1e6/float64(b.N), "client-µs/cycle")
			})
		}
	}
}

// serverCPU returns the CPU time of the server.
func serverCPU(b *testing.B, s *redistest.Server) (all time.Duration) {
	b.Helper()
	for line := range strings.Lines(s.Must("INFO", "cpu")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_sys" || name == "used_cpu_user" {
			d, err := time.ParseDuration(value + "s")
			if err != nil {
				b.Fatal(err)
			}
			all += d
		}
	}
	return all
}

// ownCPU returns the CPU time of this process.
func ownCPU(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func cycles(b *testing.B, goroutines int, cycle func(key string) error) {
	var n atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for i := n.Add(1); i <= int64(b.N); i = n.Add(1) {
				if err := cycle("bench:" + strconv.FormatInt(i, 10)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "cycles/s")
}
