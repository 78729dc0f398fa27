package main_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/testing/redistest"
	"github.com/interlock-go/interlock/internal/testing/zookeepertest"
)

// healthy are the arguments of a server without findings.
var healthy = []string{"--appendonly", "yes", "--appendfsync", "always", "--maxmemory", "256mb", "--maxmemory-policy", "noeviction"}

// with appends arguments to a copy.
func with(args []string, more ...string) []string {
	return append(append([]string(nil), args...), more...)
}

// Requirements S8, T7: on misconfigured real servers, the doctor names each problem.
func TestDoctorNamesTheProblem(t *testing.T) {
	for _, c := range []struct {
		name string
		code int
		url  func(t *testing.T) []string
		want []string
	}{
		{"a server that evicts", 6, func(t *testing.T) []string {
			return []string{redistest.Start(t, with(healthy, "--maxmemory-policy", "allkeys-lru")...).URL()}
		}, []string{"✗ eviction", "CONFIG SET maxmemory-policy noeviction", "findings: failed 1, warnings 0, notes 0"}},
		{"a server without persistence", 0, func(t *testing.T) []string {
			return []string{redistest.Start(t).URL()}
		}, []string{"! forgets", "CONFIG SET appendonly yes", "one Redis server without an append-only file"}},
		{"a server with snapshots only", 0, func(t *testing.T) []string {
			return []string{redistest.Start(t, "--save", "900 1").URL()}
		}, []string{"! snapshots-only"}},
		{"a server that syncs every second", 0, func(t *testing.T) []string {
			return []string{redistest.Start(t, "--appendonly", "yes").URL()}
		}, []string{"· every-second", "findings: failed 0, warnings 0, notes 1", "one Redis server, appendfsync everysec"}},
		{"a primary that writes without its replica", 0, func(t *testing.T) []string {
			p, _ := pair(t)
			return []string{p.URL()}
		}, []string{"! min-replicas", "CONFIG SET min-replicas-to-write 1", "· no-acks", "findings: failed 0, warnings 1, notes 1"}},
		{"the address of a replica", 6, func(t *testing.T) []string {
			_, r := pair(t)
			return []string{r.URL()}
		}, []string{"✗ on-replica", "this is a replica of 127.0.0.1:"}},
		{"a primary that requires more replicas than it has", 6, func(t *testing.T) []string {
			return []string{redistest.Start(t, with(healthy, "--min-replicas-to-write", "1")...).URL()}
		}, []string{"✗ too-few-replicas"}},
		{"acks without a replica", 6, func(t *testing.T) []string {
			return []string{redistest.Start(t, healthy...).URL() + "?acks=any"}
		}, []string{"✗ acks-without-replica", "one Redis server · acks any"}},
		{"a clock behind", 0, func(t *testing.T) []string {
			s := redistest.Start(t, with(healthy, redistest.SteppedClock)...)
			s.Step(-90 * time.Second)
			return []string{s.URL()}
		}, []string{"! clock", "its clock differs from ours by -1m", "findings: failed 0, warnings 1, notes 0"}},
		{"a user without permission for EVALSHA", 6, func(t *testing.T) []string {
			s := redistest.Start(t, healthy...)
			s.Must("ACL", "SETUSER", "shop", "on", ">secret", "~*", "&*", "+@all", "-evalsha", "-config")
			return []string{"redis://shop:secret@" + s.Addr()}
		}, []string{"✗ denied", "the user has no permission for EVALSHA", "ACL SETUSER <user> +evalsha", "· unread"}},
		{"a wrong password", 5, func(t *testing.T) []string {
			s := redistest.Start(t, healthy...)
			s.Must("CONFIG", "SET", "requirepass", "right")
			return []string{"redis://:wrong@" + s.Addr()}
		}, []string{"✗ unreachable", "password in the URL is wrong"}},
		{"a server without a password", 0, func(t *testing.T) []string {
			s := redistest.Start(t, healthy...)
			s.Must("CONFIG", "SET", "protected-mode", "no")
			s.Must("CONFIG", "SET", "bind", "127.0.0.1 -192.0.2.1")
			return []string{s.URL()}
		}, []string{"! exposed"}},
		{"an almost full memory", 0, func(t *testing.T) []string {
			s := redistest.Start(t, healthy...)
			s.Must("SET", "much", strings.Repeat("x", 8<<20))
			s.Must("CONFIG", "SET", "maxmemory", "10mb")
			return []string{s.URL()}
		}, []string{"! memory-full"}},
		{"a quorum on one machine, with a server listed twice", 6, func(t *testing.T) []string {
			a, b := redistest.Start(t, healthy...), redistest.Start(t, healthy...)
			return []string{a.URL(), b.URL(), strings.Replace(a.URL(), "127.0.0.1", "localhost", 1)}
		}, []string{"a quorum", "✗ quorum-host", "2 nodes are on the host 127.0.0.1", "✗ quorum-same"}},
		{"a quorum of two", 6, func(t *testing.T) []string {
			return []string{redistest.Start(t, healthy...).URL(), "redis://127.0.0.1:1"}
		}, []string{"✗ quorum-few", "! unreachable"}},
		{"an unreachable server", 5, func(*testing.T) []string { return []string{"redis://127.0.0.1:1"} },
			[]string{"✗ unreachable", "connection refused", "no server is reachable"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			examine(t, c.url(t)...).expect(t, c.code, c.want...)
		})
	}
}

// Requirements S8, T7: the same for sentinels and clusters.
func TestDoctorOnSeveralServers(t *testing.T) {
	t.Parallel()
	t.Run("healthy sentinels have no findings until a replica fails", func(t *testing.T) {
		t.Parallel()
		s := redistest.StartSentinel(t, with(healthy, "--min-replicas-to-write", "1")...)
		r := examine(t, s.URL()+"?acks=any")
		r.expect(t, 0, "✓ findings: none", "Redis behind sentinels · acks any", "the same with acks and min-replicas-to-write")
		killed := s.Replicas()[0]
		killed.Kill()
		await(t, "the primary notices", func() bool { return s.Servers[0].Info("replication", "connected_slaves") == "1" })
		examine(t, s.URL()+"?acks=any").expect(t, 0, "! unreachable · "+killed.Addr(), "findings: failed 0, warnings 1, notes 0")
		s.Watchers[1].Kill()
		s.Watchers[2].Kill()
		examine(t, s.URL()).expect(t, 6, "✗ sentinels-away", "1 of 3 sentinels are reachable; 2 must agree", "· no-acks")
	})
	t.Run("a healthy cluster has no findings until a slot has no node", func(t *testing.T) {
		t.Parallel()
		c := redistest.StartCluster(t, with(healthy, "--min-replicas-to-write", "1")...)
		examine(t, c.URL()+"?acks=any").expect(t, 0, "✓ findings: none", "Redis Cluster · acks any")
		c.Servers[0].Must("CLUSTER", "DELSLOTS", "7")
		examine(t, c.URL()+"?acks=any").expect(t, 6, "✗ uncovered-slots", "slots without a node: 1 of 16384")
	})
}

// ZooKeeper tells the time only in a session, which a probe must open.
func TestDoctorOnZooKeeper(t *testing.T) {
	needsServer(t, "ZooKeeper")
	t.Parallel()
	s := zookeepertest.StartClocked(t)
	s.Step(t, -90*time.Second)
	var report string
	await(t, "the server tells its time", func() bool { // a probe does not wait long for it
		r := examine(t, s.URL()+"?timeout=20s")
		code := r.wait(t)
		report = r.stdout.String()
		return code == 0 && strings.Contains(report, "! clock")
	})
	for _, want := range []string{"its clock differs from ours by -1m", "! one-member", "findings: failed 0"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
}

func TestDoctor(t *testing.T) {
	t.Run("a healthy server", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t, healthy...)
		r := examine(t, s.URL())
		r.expect(t, 0, "✓ findings: none", "one Redis server, appendfsync always", s.Addr(), "not guaranteed")
		if keys := s.Must("KEYS", "*"); keys != "" {
			t.Errorf("the doctor left the keys %q, want none", keys)
		}
	})
	t.Run("in Chinese, and from the environment", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		start(t, []string{"INTERLOCK_ENGINE_URL=" + s.URL()}, "doctor", "--lang=zh").expect(t, 0, "单台 Redis，无 AOF", "后果", "建议")
	})
	t.Run("as JSON", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		r := start(t, nil, "doctor", "--json", "--engine", s.URL())
		r.expect(t, 0)
		var report struct {
			Worst    string
			Nodes    []struct{ Addr string }
			Findings []struct{ Code, Do string }
		}
		if err := json.Unmarshal([]byte(r.stdout.String()), &report); err != nil {
			t.Fatal(err)
		}
		if report.Worst != "warn" || len(report.Nodes) != 1 || report.Findings[0].Code != "forgets" || report.Findings[0].Do == "" {
			t.Errorf("doctor reports %+v, want a warning, one node and the finding forgets", report)
		}
	})
	t.Run("a short lease makes a clock difference matter", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t, with(healthy, redistest.SteppedClock)...)
		s.Step(200 * time.Millisecond)
		examine(t, s.URL()).expect(t, 0, "✓ findings: none")
		start(t, nil, "doctor", "--lease=5s", "--engine", s.URL()).expect(t, 0, "! clock")
	})
	for _, c := range []struct{ name, args, want string }{
		{"no server at all", "doctor", "no engine: set --engine"},
		{"no URL", "doctor --engine=localhost:6379", "--engine must be a URL such as redis://localhost:6379"},
		{"no lease", "doctor --engine=redis://a --lease=0s", `--lease: "0s" is not a duration`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			start(t, nil, strings.Fields(c.args)...).expect(t, 2, c.want)
		})
	}
	t.Run("no password is printed", func(t *testing.T) {
		t.Parallel()
		r := examine(t, "redis://shop:geheim@127.0.0.1:1")
		r.expect(t, 5)
		if strings.Contains(r.stdout.String()+r.stderr.String(), "geheim") {
			t.Error("the output contains the password")
		}
	})
}

// examine runs the doctor.
func examine(t *testing.T, urls ...string) *run {
	t.Helper()
	args := []string{"doctor"}
	for _, url := range urls {
		args = append(args, "--engine", url)
	}
	return start(t, nil, args...)
}

// pair returns a primary and a connected replica.
func pair(t *testing.T) (primary, replica *redistest.Server) {
	t.Helper()
	primary = redistest.Start(t, healthy...)
	_, port, _ := strings.Cut(primary.Addr(), ":")
	if _, err := strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	replica = redistest.Start(t, with(healthy, "--replicaof", "127.0.0.1", port)...)
	primary.Must("CONFIG", "SET", "repl-diskless-sync-delay", "0")
	await(t, "the replica is connected", func() bool { return replica.Info("replication", "master_link_status") == "up" })
	return primary, replica
}
