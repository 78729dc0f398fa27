package leader_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/child"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

const (
	key       = "torture:leader"
	lease     = time.Second
	processes = 5

	workerVariable = "INTERLOCK_LEADER_WORKER"
)

func TestMain(m *testing.M) {
	url, ok := os.LookupEnv(workerVariable)
	if !ok {
		os.Exit(m.Run())
	}
	if err := work(url); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// effect is what a leader does: the store refuses a fence that is lower than the highest it
// has seen. All attempts are logged with the server's time in microseconds.
var effect = redis.NewScript(`
local now = redis.call('TIME')
local highest = redis.call('GET', 'register') or '0'
local accepted = #ARGV[1] > #highest or #ARGV[1] == #highest and ARGV[1] >= highest
if accepted then redis.call('SET', 'register', ARGV[1]) end
redis.call('RPUSH', 'log', string.format('%d%06d %s %s %s', now[1], now[2], ARGV[1], ARGV[2], accepted and 'accepted' or 'refused'))
return accepted and 1 or 0`)

// pauseNote logs a pause of a process, with the server's time at its end.
var pauseNote = redis.NewScript(`
local now = redis.call('TIME')
redis.call('RPUSH', 'pauses', string.format('%d%06d %s', now[1], now[2], ARGV[1]))`)

// clock returns the server's time in microseconds, and the rest of the leader's lease in
// milliseconds.
var clock = redis.NewScript(`
local now = redis.call('TIME')
return {now[1] * 1000000 + now[2], redis.call('PTTL', KEYS[1])}`)

// work is a process that leads whenever it can, until it is killed.
func work(url string) error {
	ctx := context.Background()
	db, err := connect(url)
	if err != nil {
		return err
	}
	e, err := redisengine.Open(ctx, url)
	if err != nil {
		return err
	}
	go measurePauses(ctx, db)
	pid := strconv.Itoa(os.Getpid())
	client := interlock.New(e, interlock.Watchdog(lease))
	return client.Leader(key, interlock.Announce(pid)).Run(ctx, func(ctx context.Context) error {
		fence, _ := interlock.Fence(ctx)
		for ctx.Err() == nil {
			if _, err := effect.Run(ctx, db, nil, fence, pid).Result(); err != nil && ctx.Err() == nil {
				return err
			}
			time.Sleep(5 * time.Millisecond)
		}
		return ctx.Err()
	})
}

// leastPause is the shortest pause of a process that is logged.
const leastPause = 50 * time.Millisecond

// measurePauses logs how long the machine keeps this process from running.
func measurePauses(ctx context.Context, db *redis.Client) {
	const tick = 10 * time.Millisecond
	for ctx.Err() == nil {
		start := time.Now()
		time.Sleep(tick)
		if late := time.Since(start) - tick; late > leastPause {
			pauseNote.Run(ctx, db, nil, late.Microseconds())
		}
	}
}

func connect(url string) (*redis.Client, error) {
	opts, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	return redis.NewClient(opts), nil
}

// TestKilledLeaders kills the leader of five processes with SIGKILL, again and again. Never
// do two lead at once, and the next leads within a second after the lease has expired, by the
// server's clock.
func TestKilledLeaders(t *testing.T) {
	kills := 50
	if testing.Short() {
		child.SkipIfShort(t, "kills leaders for 20 seconds")
		kills = 10
	}
	s := newSite(t)
	begun := time.Now()
	for len(s.takeovers) < kills && !t.Failed() {
		s.killLeader()
	}
	fmt.Printf("leader: %d kills in %v\n", len(s.takeovers), time.Since(begun).Round(time.Second))
	s.report()
	s.checkLog()
}

// A site is a Redis server, the processes, and what the test has seen.
type site struct {
	t       *testing.T
	db      *redis.Client
	server  *redistest.Server
	leader  *interlock.Leader
	workers map[string]*child.Process // by pid

	observed  <-chan interlock.Leadership
	takeovers []takeover
}

// A takeover is a kill, and what followed. Times are the server's, in microseconds.
type takeover struct {
	killed, expired, led int64
	fence                uint64 // of the killed leader
	paused               time.Duration
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, server: redistest.Start(t), workers: map[string]*child.Process{}}
	db, err := connect(s.server.URL())
	require(t, err, nil)
	s.db = db
	e, err := redisengine.Open(t.Context(), s.server.URL())
	require(t, err, nil)
	t.Cleanup(func() { _, _ = db.Close(), e.Close() })
	s.leader = interlock.New(e).Leader(key)
	s.observed = observe(t.Context(), t, s.leader)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go measurePauses(ctx, db)
	for range processes {
		s.startWorker()
	}
	return s
}

func (s *site) startWorker() {
	s.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workerVariable+"="+s.server.URL())
	p, err := child.Start(cmd)
	require(s.t, err, nil)
	s.workers[strconv.Itoa(p.Pid())] = p
	s.t.Cleanup(func() {
		p.Kill()
		if s.t.Failed() && p.Log() != "" {
			s.t.Logf("log of worker %d:\n%s", p.Pid(), p.Log())
		}
	})
}

// killLeader kills the process that leads, by the pid that it announced, and waits for the
// next leader.
func (s *site) killLeader() {
	s.t.Helper()
	leader := s.awaitLeader()
	worker := s.workers[leader.Value]
	if worker == nil {
		s.t.Fatalf("the leader announced the pid %q, which is no running worker", leader.Value)
	}
	time.Sleep(time.Duration(len(s.takeovers)*37%400) * time.Millisecond) // at different times since the last renewal
	worker.Kill()
	delete(s.workers, leader.Value)
	s.startWorker()
	if now, err := s.leader.Current(s.t.Context()); err != nil || now.Fence != leader.Fence {
		fmt.Println("leader: a kill does not count, because the process led no longer:", now, err)
		return
	}
	k := takeover{fence: leader.Fence}
	k.killed, k.expired = s.expiry()
	k.led = s.firstEffectAfter(k.fence)
	k.paused = s.pausedBetween(k.killed, k.led)
	s.takeovers = append(s.takeovers, k)
}

// awaitLeader returns the leader when it has had an effect.
func (s *site) awaitLeader() interlock.Leadership {
	s.t.Helper()
	var last uint64
	if n := len(s.takeovers); n > 0 {
		last = s.takeovers[n-1].fence
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		now, err := s.leader.Current(s.t.Context())
		if err != nil || now.Fence <= last {
			continue
		}
		for _, e := range s.log() {
			if e.fence == now.Fence {
				return now
			}
		}
	}
	s.t.Fatal("no process led for a minute")
	return interlock.Leadership{}
}

// expiry returns the server's time, and when the lease of the dead leader expires.
func (s *site) expiry() (now, expires int64) {
	s.t.Helper()
	reply, err := clock.Run(s.t.Context(), s.db, []string{key}).Int64Slice()
	require(s.t, err, nil)
	return reply[0], reply[0] + max(0, reply[1])*1000
}

// firstEffectAfter waits for the first effect of a later leader, and returns the server's time.
func (s *site) firstEffectAfter(fence uint64) int64 {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		for _, e := range s.log() {
			if e.fence > fence {
				return e.at
			}
		}
	}
	s.t.Fatal("there was no new leader for a minute")
	return 0
}

// pausedBetween returns how long the processes did not run, as they measured.
func (s *site) pausedBetween(from, to int64) (sum time.Duration) {
	s.t.Helper()
	for _, line := range s.list("pauses") {
		var end, took int64
		if _, err := fmt.Sscan(line, &end, &took); err != nil {
			s.t.Fatal(err)
		}
		if end >= from && end-took <= to {
			sum += time.Duration(took) * time.Microsecond
		}
	}
	return sum
}

// An entry is an effect in the log of the store.
type entry struct {
	at       int64
	fence    uint64
	process  string
	accepted bool
}

// log returns the effects in the order in which the store got them.
func (s *site) log() []entry {
	s.t.Helper()
	var entries []entry
	for _, line := range s.list("log") {
		var e entry
		var result string
		if _, err := fmt.Sscan(line, &e.at, &e.fence, &e.process, &result); err != nil {
			s.t.Fatal(err)
		}
		e.accepted = result == "accepted"
		entries = append(entries, e)
	}
	return entries
}

func (s *site) list(name string) []string {
	s.t.Helper()
	lines, err := s.db.LRange(s.t.Context(), name, 0, -1).Result()
	require(s.t, err, nil)
	return lines
}

// report prints how long the takeovers took, and checks each.
func (s *site) report() {
	s.t.Helper()
	var after []time.Duration // the expiry
	for _, k := range s.takeovers {
		d := time.Duration(k.led-k.expired) * time.Microsecond
		after = append(after, d)
		if limit := time.Second + k.paused; d > limit {
			s.t.Errorf("the leader with fence %d was replaced %v after its lease had expired, want at most 1s and the %v that processes were paused", k.fence, d, k.paused)
		}
		if k.led < k.killed {
			s.t.Errorf("the successor of the leader with fence %d led before the kill", k.fence)
		}
	}
	slices.SortFunc(after, cmp.Compare)
	if n := len(after); n > 0 {
		fmt.Printf("leader: first effect of the next leader, after the lease had expired: min %v, median %v, max %v\n", after[0], after[n/2], after[n-1])
	}
}

// checkLog checks that no two processes led at once, as the store saw it.
func (s *site) checkLog() {
	s.t.Helper()
	var last entry
	owner := map[uint64]string{}
	var terms, refused int
	entries := s.log()
	for _, e := range entries {
		switch {
		case !e.accepted:
			refused++
			if s.pausedBetween(e.at-2*lease.Microseconds(), e.at+lease.Microseconds()) < lease/10 {
				s.t.Errorf("the store refused fence %d after %d, although no process was paused: two led at once", e.fence, last.fence)
			}
			continue
		case e.fence < last.fence:
			s.t.Errorf("the store accepted fence %d after %d", e.fence, last.fence)
		case e.fence > last.fence:
			terms++
		}
		if p, ok := owner[e.fence]; ok && p != e.process {
			s.t.Errorf("the processes %s and %s led with the fence %d", p, e.process, e.fence)
		}
		owner[e.fence] = e.process
		last = e
	}
	if terms <= len(s.takeovers) {
		s.t.Errorf("%d terms for %d kills, want more", terms, len(s.takeovers))
	}
	gaps, leaders := s.checkObserved(owner)
	fmt.Printf("leader: %d effects in %d terms, %d refused; observed %d leaders, %d gaps\n", len(entries), terms, refused, leaders, gaps)
}

// checkObserved checks that the observer saw each leader in order, or was told of a gap.
func (s *site) checkObserved(owner map[uint64]string) (gaps, leaders int) {
	s.t.Helper()
	var last interlock.Leadership
	for {
		select {
		case now := <-s.observed:
			if now.Fence == 0 || now.Fence == last.Fence {
				continue
			}
			leaders++
			if now.Gap {
				gaps++
			}
			if now.Fence < last.Fence || last.Fence > 0 && now.Term != last.Term+1 && !now.Gap {
				s.t.Errorf("observed %+v after %+v, want the next term or a gap", now, last)
			}
			if p, ok := owner[now.Fence]; ok && p != now.Value {
				s.t.Errorf("observed %s with the fence %d, but it belongs to %s", now.Value, now.Fence, p)
			}
			last = now
		default:
			if len(owner)-leaders > 1 && gaps == 0 { // the last may not be observed yet
				s.t.Errorf("observed %d of %d leaders and no gap", leaders, len(owner))
			}
			return gaps, leaders
		}
	}
}
