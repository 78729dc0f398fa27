package main_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/testing/redistest"
)

func TestDemoOnRedis(t *testing.T) {
	const key = "interlock:demo"
	t.Run("the storm runs on Redis and leaves no lock there", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		r := start(t, nil, "demo", "--no-page", "--engine", s.URL())
		r.expect(t, 0, "3 · with a lock, on Redis at "+s.Addr(), "verdict: one holder at a time",
			"5 · one order, submitted 100 times, on Redis at "+s.Addr(), "verdict: placed once")
		if n := strings.Count(r.stdout.String(), "✓ counter   100 of 100 clicks"); n != 2 {
			t.Errorf("%d counters are correct, want 2:\n%s", n, &r.stdout)
		}
		checkNoLocks(t, s)
	})
	t.Run("the page works on Redis", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		r := start(t, nil, "demo", "--n=2", "--listen=127.0.0.1:0", "--engine", s.URL())
		at := r.page(t)
		for _, id := range []string{"concurrent", "payment", "import", "fair", "readers", "balance"} {
			resp, err := http.Post(at+"/demo/run", "application/json", strings.NewReader(`{"case":"`+id+`"}`))
			if err != nil {
				t.Fatal(err)
			}
			events, err := io.ReadAll(resp.Body)
			if err != nil || !strings.Contains(string(events), `event: verdict`+"\n"+`data: {"ok":true`) {
				t.Errorf("%s: got %v and these events, want a verdict that is ok\n%s", id, err, events)
			}
			resp.Body.Close()
		}
		r.interrupt(t)
		r.expect(t, 0)
	})
	t.Run("the address may come from the environment", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		start(t, []string{"INTERLOCK_ENGINE_URL=" + s.URL()}, "demo", "--no-page", "--n=10").expect(t, 0, "Redis at "+s.Addr())
	})
	t.Run("an unreachable server is named, with a hint", func(t *testing.T) {
		t.Parallel()
		r := start(t, nil, "demo", "--no-page", "--engine", "redis://user:secret@127.0.0.1:1")
		r.expect(t, 5, "127.0.0.1:1", "connection refused", "start its server, correct --engine, or omit it")
		if strings.Contains(r.stderr.String(), "secret") {
			t.Errorf("the output contains the password:\n%s", &r.stderr)
		}
		if r.stdout.String() != "" {
			t.Errorf("the demo started:\n%s", &r.stdout)
		}
	})
	t.Run("an unreachable server, in Chinese and from the environment", func(t *testing.T) {
		t.Parallel()
		start(t, []string{"INTERLOCK_ENGINE_URL=redis://127.0.0.1:1"}, "demo", "--no-page", "--lang=zh").expect(t, 5, "连不上引擎", "改正 INTERLOCK_ENGINE_URL")
	})
	t.Run("a server that stops answering ends the demo", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		r := start(t, nil, "demo", "--no-page", "--n=200", "--hold=10ms", "--engine", s.URL())
		await(t, "the lock is held", func() bool { return s.Must("EXISTS", key) == "1" })
		s.Kill()
		r.expect(t, 5, "the engine is unreachable")
	})
	t.Run("deleted locks fail the verdict", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		r := start(t, nil, "demo", "--no-page", "--n=50", "--hold=10ms", "--engine", s.URL())
		await(t, "the lock is deleted", func() bool { return s.Must("DEL", key) == "1" })
		r.expect(t, 6, "✗ lost", "verdict: NOT one holder at a time", "the verdict failed")
	})
	t.Run("Ctrl-C does not wait for a stopped server, and reports unreleased locks", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		r := start(t, nil, "demo", "--no-page", "--n=4", "--hold=500ms", "--engine", s.URL())
		await(t, "the lock is held", func() bool { return s.Must("EXISTS", key) == "1" })
		s.Stop()
		r.interrupt(t)
		r.expect(t, 130, "not released and expire within 30 s: 1") // before the server continues
		s.Cont()
	})
	t.Run("Ctrl-C releases the lock", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		r := start(t, nil, "demo", "--no-page", "--n=200", "--hold=10ms", "--engine", s.URL())
		await(t, "the lock is held", func() bool { return s.Must("EXISTS", key) == "1" })
		r.interrupt(t)
		r.expect(t, 130, "interrupted; all locks were released")
		checkNoLocks(t, s)
	})
}

// checkNoLocks expects that no lock is left. Client registrations, abandoned attempts
// and results may remain until they expire.
func checkNoLocks(t *testing.T, s *redistest.Server) {
	t.Helper()
	for key := range strings.FieldsSeq(s.Must("KEYS", "*")) {
		known := strings.HasPrefix(key, "interlock_client:") || strings.HasPrefix(key, "interlock_abandoned:") ||
			strings.HasPrefix(key, "interlock:guard:result:")
		if !known || s.Must("PTTL", key) == "-1" {
			t.Errorf("the server still has the key %q, want it released or with an expiry", key)
		}
	}
}

// Requirements T7, S8: the demo works behind sentinels and on a cluster.
func TestDemoOnSeveralServers(t *testing.T) {
	t.Parallel()
	t.Run("behind sentinels", func(t *testing.T) {
		t.Parallel()
		s := redistest.StartSentinel(t)
		start(t, nil, "demo", "--no-page", "--n=20", "--engine", s.URL()).expect(t, 0, "Redis at "+strings.Join(s.Addrs(), ","), "verdict: placed once")
	})
	t.Run("on a cluster", func(t *testing.T) {
		t.Parallel()
		c := redistest.StartCluster(t)
		start(t, nil, "demo", "--no-page", "--n=20", "--engine", c.URL()).expect(t, 0, "verdict: one holder at a time", "verdict: placed once")
	})
}
