package prom_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/observe/prom"
)

// A probed engine is probed by a function.
type probed struct {
	*memory.Engine
	probe func(context.Context) (engine.Health, error)
	count atomic.Int64
}

func (p *probed) Capabilities() engine.Capabilities {
	c := p.Engine.Capabilities()
	c.Prober = p
	return c
}

func (p *probed) Probe(ctx context.Context) (engine.Health, error) {
	p.count.Add(1)
	return p.probe(ctx)
}

// collect returns a client on an engine with a prober, and its collector.
func collect(t *testing.T, probe func(context.Context) (engine.Health, error)) (*probed, *prom.Collector) {
	e := &probed{Engine: memory.New(), probe: probe}
	client := interlock.New(e)
	c := prom.New(client)
	t.Cleanup(func() {
		c.Close()
		_ = client.Close(context.Background())
	})
	return e, c
}

func TestProbes(t *testing.T) {
	t.Run("servers without requests have a state and a clock", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			health := engine.Health{Parts: []engine.Health{{Nodes: []engine.Node{
				{Addr: "a:1", Role: engine.Primary, Latency: time.Millisecond, Offset: 250 * time.Millisecond},
				{Addr: "a:2", Role: engine.Replica, Latency: time.Millisecond, Offset: -time.Second, Err: errors.New("may not read the configuration")},
				{Addr: "a:3", Role: engine.Replica, Err: errors.New("connection refused")},
				{Addr: "a:4", Role: engine.Watcher},
			}}, {Nodes: []engine.Node{{Addr: "a:1", Role: engine.Primary}}}}} // twice: two parts may share a server
			_, c := collect(t, func(context.Context) (engine.Health, error) { return health, nil })
			if text := scrape(t, c); strings.Contains(text, "a:1") {
				t.Error("the first scrape has the result of a probe")
			}
			synctest.Wait()
			text := scrape(t, c)
			wantLines(t, text, `interlock_engine_up{node="a:1"} 1`, `interlock_engine_up{node="a:2"} 1`, `interlock_engine_up{node="a:3"} 0`,
				`interlock_engine_clock_skew_seconds{node="a:1"} 0.25`, `interlock_engine_clock_skew_seconds{node="a:2"} -1`)
			if strings.Contains(text, `skew_seconds{node="a:3"}`) || strings.Contains(text, "a:4") {
				t.Error("the scrape has the clock of a server that is down, or a sentinel")
			}
			health.Parts[0].Nodes = health.Parts[0].Nodes[:2]
			time.Sleep(time.Minute)
			scrape(t, c)
			synctest.Wait()
			if text := scrape(t, c); strings.Contains(text, "a:3") {
				t.Error("the scrape has a server that was removed")
			}
		})
	})
	t.Run("a scrape does not wait for a silent engine, and begins one probe at a time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e, c := collect(t, func(ctx context.Context) (engine.Health, error) {
				<-ctx.Done()
				return engine.Health{}, ctx.Err()
			})
			start := time.Now()
			for range 10 {
				wantLines(t, scrape(t, c), "# TYPE interlock_build_info gauge")
				synctest.Wait()
			}
			if took := time.Since(start); took != 0 || e.count.Load() != 1 {
				t.Errorf("ten scrapes took %v and began %d probes, want no time and one probe", took, e.count.Load())
			}
			time.Sleep(14 * time.Second)
			scrape(t, c)
			time.Sleep(time.Second)
			scrape(t, c)
			synctest.Wait()
			if n := e.count.Load(); n != 2 {
				t.Errorf("after 15s there were %d probes, want 2", n)
			}
		})
	})
	t.Run("a probe that does not end is not repeated", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			e, c := collect(t, func(context.Context) (engine.Health, error) {
				<-release
				return engine.Health{}, nil
			})
			for range 10 {
				scrape(t, c)
				time.Sleep(time.Minute)
			}
			if n := e.count.Load(); n != 1 {
				t.Errorf("there were %d probes at once, want 1", n)
			}
			close(release)
		})
	})
	t.Run("Close ends a probe, and later scrapes begin none", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e, c := collect(t, func(ctx context.Context) (engine.Health, error) {
				<-ctx.Done()
				return engine.Health{}, ctx.Err()
			})
			scrape(t, c)
			synctest.Wait()
			start := time.Now()
			c.Close()
			time.Sleep(time.Hour)
			scrape(t, c)
			if took := time.Since(start); took != time.Hour || e.count.Load() != 1 {
				t.Errorf("Close took %v, and there were %d probes; want no time and one", took-time.Hour, e.count.Load())
			}
		})
	})
	t.Run("ten thousand servers leave the series bounded", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			next := 0
			_, c := collect(t, func(context.Context) (h engine.Health, _ error) {
				for range 1000 {
					next++
					h.Nodes = append(h.Nodes, engine.Node{Addr: fmt.Sprint("host:", next)})
				}
				return h, nil
			})
			for range 10 {
				scrape(t, c)
				time.Sleep(time.Minute)
			}
			text := scrape(t, c)
			if up, skew := strings.Count(text, "interlock_engine_up{"), strings.Count(text, "interlock_engine_clock_skew_seconds{"); up != 100 || skew != 100 {
				t.Errorf("there are %d and %d series, want 100 of each", up, skew)
			}
		})
	})
}
