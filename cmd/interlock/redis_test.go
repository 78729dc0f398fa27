package main_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/testing/redistest"
)

func TestDemoOnRedis(t *testing.T) {
	const key = "interlock:demo"
	t.Run("the same storm runs on Redis and leaves nothing there", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		r := start(t, nil, "demo", "--no-page", "--redis", s.URL())
		r.expect(t, 0, "3 · with a lock, on Redis at "+s.Addr(), "verdict: one at a time",
			"5 · one order, submitted 100 times, on Redis at "+s.Addr(), "verdict: it happened once")
		if n := strings.Count(r.stdout.String(), "✓ counter   100 of 100 clicks"); n != 2 {
			t.Errorf("%d counters are right, want 2:\n%s", n, &r.stdout)
		}
		leavesNothing(t, s)
	})
	t.Run("the page works on Redis, too", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		r := start(t, nil, "demo", "--n=2", "--listen=127.0.0.1:0", "--redis", s.URL())
		at := r.page(t)
		for _, id := range []string{"concurrent", "payment", "import", "fair", "readers", "balance"} {
			resp, err := http.Post(at+"/demo/run", "application/json", strings.NewReader(`{"case":"`+id+`"}`))
			if err != nil {
				t.Fatal(err)
			}
			told, err := io.ReadAll(resp.Body)
			if err != nil || !strings.Contains(string(told), `event: verdict`+"\n"+`data: {"ok":true`) {
				t.Errorf("%s: %v\n%s", id, err, told)
			}
			resp.Body.Close()
		}
		r.interrupt(t)
		r.expect(t, 0)
	})
	t.Run("the address may come from the environment", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		start(t, []string{"INTERLOCK_REDIS_URL=" + s.URL()}, "demo", "--no-page", "--n=10").expect(t, 0, "Redis at "+s.Addr())
	})
	t.Run("a server that is not there is named, with what to do", func(t *testing.T) {
		t.Parallel()
		r := start(t, nil, "demo", "--no-page", "--redis", "redis://user:secret@127.0.0.1:1")
		r.expect(t, 5, "127.0.0.1:1", "connection refused", "start one (redis-server), correct --redis, or leave it out")
		if strings.Contains(r.stderr.String(), "secret") {
			t.Errorf("it tells the password:\n%s", &r.stderr)
		}
		if r.stdout.String() != "" {
			t.Errorf("it begins all the same:\n%s", &r.stdout)
		}
	})
	t.Run("a server that is not there, in Chinese and from the environment", func(t *testing.T) {
		t.Parallel()
		start(t, []string{"INTERLOCK_REDIS_URL=redis://127.0.0.1:1"}, "demo", "--no-page", "--lang=zh").expect(t, 5, "连不上 Redis", "改正 INTERLOCK_REDIS_URL")
	})
	t.Run("a server that stops answering ends the demo", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		r := start(t, nil, "demo", "--no-page", "--n=200", "--hold=10ms", "--redis", s.URL())
		await(t, "the lock is held", func() bool { return s.Must("EXISTS", key) == "1" })
		s.Kill()
		r.expect(t, 5, "Redis cannot be reached")
	})
	t.Run("locks taken away by somebody else fail the verdict", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		r := start(t, nil, "demo", "--no-page", "--n=50", "--hold=10ms", "--redis", s.URL())
		await(t, "the lock is deleted", func() bool { return s.Must("DEL", key) == "1" })
		r.expect(t, 6, "✗ lost", "verdict: NOT one at a time", "the verdict failed")
	})
	t.Run("Ctrl-C does not wait for a server that is silent, and says what is left there", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		r := start(t, nil, "demo", "--no-page", "--n=4", "--hold=500ms", "--redis", s.URL())
		await(t, "the lock is held", func() bool { return s.Must("EXISTS", key) == "1" })
		s.Stop()
		began := time.Now()
		r.interrupt(t)
		r.expect(t, 130, "could not be given back, and run out within 30 s: 1")
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it took %v to end", took)
		}
		s.Cont()
	})
	t.Run("Ctrl-C gives the lock back", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		r := start(t, nil, "demo", "--no-page", "--n=200", "--hold=10ms", "--redis", s.URL())
		await(t, "the lock is held", func() bool { return s.Must("EXISTS", key) == "1" })
		began := time.Now()
		r.interrupt(t)
		r.expect(t, 130, "interrupted; every lock was given back")
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it took %v to end", took)
		}
		leavesNothing(t, s)
	})
}

// leavesNothing demands that no lock is left. Who it was, that an acquisition was
// given up, and what was ordered, may be remembered for a while.
func leavesNothing(t *testing.T, s *redistest.Server) {
	t.Helper()
	for key := range strings.FieldsSeq(s.Must("KEYS", "*")) {
		known := strings.HasPrefix(key, "interlock_client:") || strings.HasPrefix(key, "interlock_abandoned:") ||
			strings.HasPrefix(key, "interlock:guard:result:")
		if !known || s.Must("PTTL", key) == "-1" {
			t.Errorf("it leaves the key %q", key)
		}
	}
}

// T7, S8: what works on one server works behind sentinels and on a cluster.
func TestDemoOnSeveralServers(t *testing.T) {
	t.Parallel()
	t.Run("behind sentinels", func(t *testing.T) {
		t.Parallel()
		s := redistest.StartSentinel(t)
		start(t, nil, "demo", "--no-page", "--n=20", "--redis", s.URL()).expect(t, 0, "Redis at "+strings.Join(s.Addrs(), ","), "verdict: it happened once")
	})
	t.Run("on a cluster", func(t *testing.T) {
		t.Parallel()
		c := redistest.StartCluster(t)
		start(t, nil, "demo", "--no-page", "--n=20", "--redis", c.URL()).expect(t, 0, "verdict: one at a time", "verdict: it happened once")
	})
}
