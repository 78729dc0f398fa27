package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest/history"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/engine/standby"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// With these values no lock is granted for a little more than 2s after a switch.
const (
	standbyLease = 1500 * time.Millisecond
	standbyView  = 600 * time.Millisecond
	standbyKeys  = 2
)

// TestStandby has three processes compete for two locks while an operator switches back
// and forth between two real servers (requirement T13). It checks the history of all
// processes, and on which server the locks are held.
func TestStandby(t *testing.T) {
	const (
		processes  = 3
		goroutines = 6
		load       = 1500 * time.Millisecond // between two switches
	)
	switches := 10
	if testing.Short() {
		switches = 4
	}
	servers := map[standby.Side]*redistest.Server{standby.Primary: redistest.Start(t), standby.Standby: redistest.Start(t)}
	file := filepath.Join(t.TempDir(), "history")
	j := job{
		Do: "follow", Engine: servers[standby.Primary].URL(), Standby: servers[standby.Standby].URL(), History: file,
		Key: "standby", Goroutines: goroutines, For: time.Duration(switches+1) * (load + 2900*time.Millisecond), Lease: standbyLease,
	}
	var workers []*worker
	for i := range processes {
		j.Process = strconv.Itoa(i)
		workers = append(workers, start(t, j))
	}
	operator := newOperator(t, servers)
	for begun := time.Now(); !lockSeenOn(servers[standby.Primary]); time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > 30*time.Second {
			t.Fatal("no lock was acquired")
		}
	}

	var rounds []round
	side := standby.Primary
	for range switches {
		rounds = append(rounds, watchServers(t, servers, side, load))
		side = standby.Primary + standby.Standby - side
		report, err := operator.Switch(t.Context(), side)
		if err != nil || len(report.Written) != 2 {
			t.Fatalf("switch to %v: got %+v, %v; want records on both sides", side, report, err)
		}
		time.Sleep(time.Until(report.State.FrozenUntil) + standbyView)
	}
	rounds = append(rounds, watchServers(t, servers, side, load))
	for i, w := range workers {
		if err := w.Wait(); err != nil {
			t.Fatalf("process %d: %v", i, err)
		}
	}
	checkRounds(t, file, rounds)
}

// A round is the time between two switches in which locks are granted.
type round struct {
	side     standby.Side
	from, to time.Time
	here     int // how often a poll saw a lock on the active side
	there    int // how often a poll saw a lock on the other side
}

// watchServers polls both servers for a while.
func watchServers(t *testing.T, servers map[standby.Side]*redistest.Server, side standby.Side, load time.Duration) round {
	t.Helper()
	r := round{side: side, from: time.Now()}
	for time.Since(r.from) < load {
		for s, server := range servers {
			switch seen := lockSeenOn(server); {
			case seen && s == side:
				r.here++
			case seen:
				r.there++
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.to = time.Now()
	return r
}

// lockSeenOn reports whether one of the locks is held on a server.
func lockSeenOn(s *redistest.Server) bool {
	return s.Must("EXISTS", "standby:0", "standby:1") != "0"
}

// checkRounds checks that no two holds overlap, and that every round had grants.
func checkRounds(t *testing.T, file string, rounds []round) {
	t.Helper()
	events, err := history.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	report := history.Check(events)
	if err := report.Err(); err != nil {
		t.Error(err)
	}
	sides := map[standby.Side]int{}
	for i, r := range rounds {
		grants := 0
		for _, e := range events {
			if e.Kind == history.Enter && e.At.After(r.from) && e.At.Before(r.to) {
				grants++
			}
		}
		sides[r.side] += grants
		if grants == 0 || r.here == 0 || r.there != 0 {
			t.Errorf("round %d on the %v: %d grants; locks were seen %d times on that side and %d times on the other; want grants and locks on that side only", i, r.side, grants, r.here, r.there)
		}
	}
	fmt.Printf("standby: %d switches under load, %d grants on the primary and %d on the standby within the rounds; %v\n",
		len(rounds)-1, sides[standby.Primary], sides[standby.Standby], report)
}

// newOperator returns an engine that can switch sides.
func newOperator(t *testing.T, servers map[standby.Side]*redistest.Server) *standby.Engine {
	t.Helper()
	var both [2]engine.Engine
	for side, s := range servers {
		e, err := redisengine.Open(t.Context(), s.URL())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		both[side-standby.Primary] = e
	}
	e, err := standby.New(t.Context(), both[0], both[1], standby.Operator())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// openBoth returns an engine with the first server and its standby.
func (j job) openBoth(first closer) (_ engine.Engine, closeAll func(), err error) {
	second, err := openEngine(context.Background(), j.Standby)
	if err != nil {
		return nil, nil, err
	}
	e, err := standby.New(context.Background(), first, second,
		standby.LongestLease(standbyLease), standby.MaxRecordAge(standbyView), standby.Name(j.Process))
	if err != nil {
		return nil, nil, err
	}
	return e, func() { _, _, _ = e.Close(), first.Close(), second.Close() }, nil
}

// follow acquires locks on the active side and holds each for up to half of its lease. The
// rest of the lease leaves time to record the events on a busy machine.
func follow(j job, c *interlock.Client, log *history.FileLog) error {
	ctx, cancel := context.WithTimeout(context.Background(), j.For)
	defer cancel()
	var all sync.WaitGroup
	for i := range j.Goroutines {
		all.Go(func() {
			for ctx.Err() == nil {
				followOnce(ctx, j, c, log, strconv.Itoa(i))
			}
		})
	}
	all.Wait()
	return c.Close(context.Background())
}

func followOnce(ctx context.Context, j job, c *interlock.Client, log *history.FileLog, actor string) {
	e := history.Event{Kind: history.Ask, Key: fmt.Sprint(j.Key, ":", rand.IntN(standbyKeys)), Actor: actor}
	log.Add(e)
	held, hold, err := c.Mutex(e.Key).Lock(ctx)
	if err != nil {
		e.Kind = history.Stop
		log.Add(e)
		return
	}
	e.Kind, e.Fence = history.Enter, hold.Fence()
	log.Add(e)
	e.Kind, e.Fence = history.Leave, 0
	timer := time.NewTimer(rand.N(j.Lease / 2 / time.Duration(1+rand.IntN(30))))
	defer timer.Stop()
	select {
	case <-held.Done():
	case <-timer.C:
	}
	if held.Err() != nil && errors.Is(context.Cause(held), interlock.ErrLost) {
		e.Kind = history.Lost
	}
	log.Add(e)
	_ = hold.Unlock()
}
