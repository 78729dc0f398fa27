package redistest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// watched is the name of the primary at the sentinels.
const watched = "main"

// A Sentinel has a primary with two replicas, and three sentinels that watch them.
type Sentinel struct {
	t        testing.TB
	Servers  []*Server // the first starts as the primary
	Watchers []*Server
}

// StartSentinel runs six processes until the test ends, and returns when the sentinels
// know all servers and each other. A primary counts as down after a second. The
// three servers get the arguments; the sentinels do not.
func StartSentinel(t testing.TB, args ...string) *Sentinel {
	t.Helper()
	s := &Sentinel{t: t}
	primary := Start(t, args...)
	s.Servers = append(s.Servers, primary)
	for range 2 {
		s.Servers = append(s.Servers, Start(t, append([]string{"--replicaof", "127.0.0.1", strconv.Itoa(primary.port)}, args...)...))
	}
	for _, r := range s.Servers {
		r.Must("CONFIG", "SET", "repl-diskless-sync-delay", "0")
	}
	primary.awaitReplicas(2)
	for range 3 {
		w := &Server{t: t, main: fmt.Sprintf("127.0.0.1 %d", primary.port)}
		w.start(nil)
		// Otherwise a sentinel notices a new role only after ten seconds. Before 7.0
		// the command does not exist, and the test waits that long.
		_, _ = w.Do("SENTINEL", "DEBUG", "INFO-PERIOD", "500", "PUBLISH-PERIOD", "250")
		s.Watchers = append(s.Watchers, w)
	}
	s.Healthy()
	return s
}

// Patient prevents a failover when a slow machine pauses the primary for a moment. It is
// for tests in which no server fails.
func (s *Sentinel) Patient() *Sentinel {
	s.t.Helper()
	for _, w := range s.Watchers {
		w.Must("SENTINEL", "SET", watched, "down-after-milliseconds", "600000")
	}
	return s
}

// sentinelArguments returns the arguments of a sentinel. A sentinel stores its state in
// its configuration file, so a restart must not overwrite that file.
func (s *Server) sentinelArguments() ([]string, error) {
	file := filepath.Join(s.dir, "sentinel.conf")
	if _, err := os.Stat(file); err == nil && s.process != nil && s.known() {
		return []string{file, "--sentinel"}, nil // a restart
	}
	text := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\n"+
		"sentinel monitor %s %s 2\n"+
		"sentinel down-after-milliseconds %[3]s 1000\n"+
		"sentinel failover-timeout %[3]s 4000\n"+
		"sentinel parallel-syncs %[3]s 2\n", s.port, s.dir, watched, s.main)
	return []string{file, "--sentinel"}, os.WriteFile(file, []byte(text), 0o600)
}

// known reports whether the sentinel's configuration file is for its present port.
func (s *Server) known() bool {
	text, err := os.ReadFile(filepath.Join(s.dir, "sentinel.conf"))
	return err == nil && strings.Contains(string(text), fmt.Sprintf("port %d\n", s.port))
}

// URL returns the URL of the sentinels for [redisengine.Open].
func (s *Sentinel) URL() string {
	return "redis+sentinel://" + addresses(s.Watchers) + "/" + watched
}

// Addrs returns the addresses of the sentinels.
func (s *Sentinel) Addrs() []string { return strings.Split(addresses(s.Watchers), ",") }

// Step moves the wall clocks of the servers by d; see [Server.Step].
func (s *Sentinel) Step(d time.Duration) {
	for _, server := range s.Servers {
		server.Step(d)
	}
}

// Main returns the name of the primary at the sentinels.
func (s *Sentinel) Main() string { return watched }

func addresses(servers []*Server) string {
	addrs := make([]string, len(servers))
	for i, s := range servers {
		addrs[i] = s.Addr()
	}
	return strings.Join(addrs, ",")
}

// Healthy waits until all sentinels see the same primary, two replicas, and each other,
// and both replicas are connected to the primary.
func (s *Sentinel) Healthy() {
	s.t.Helper()
	await(s.t, "healthy sentinels", func() (string, bool) {
		seen := make(map[string]bool)
		for _, w := range s.Watchers {
			about, err := w.Do("SENTINEL", "MASTER", watched)
			f := pairs(about)
			if err != nil || f["flags"] != "master" || f["num-slaves"] != "2" || f["num-other-sentinels"] != "2" {
				return about, false
			}
			seen[f["port"]] = true
			// A sentinel's view of a replica may be ten seconds old.
			if replicas, _ := w.Do("SENTINEL", "REPLICAS", watched); strings.Contains(replicas, "_down") {
				return replicas, false
			}
		}
		if len(seen) != 1 {
			return fmt.Sprint(seen), false
		}
		// Replica and primary do not report a new link at the same time. Ask both.
		for _, r := range s.Replicas() {
			if info, _ := r.Do("INFO", "replication"); !strings.Contains(info, "master_link_status:up") {
				return info, false
			}
		}
		info, _ := s.Primary().Do("INFO", "replication")
		return info, strings.Count(info, "state=online") == 2
	})
}

// pairs parses a reply in which each name is followed by its value.
func pairs(reply string) map[string]string {
	lines, m := strings.Split(reply, "\n"), make(map[string]string)
	for i := 0; i+1 < len(lines); i += 2 {
		m[lines[i]] = lines[i+1]
	}
	return m
}

// Primary returns the server that most sentinels report as the primary.
func (s *Sentinel) Primary() *Server {
	s.t.Helper()
	var found *Server
	await(s.t, "a primary that sentinels agree on", func() (string, bool) {
		votes := make(map[string]int)
		for _, w := range s.Watchers {
			addr, _ := w.Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", watched)
			votes[addr]++
		}
		for _, server := range s.Servers {
			if votes["127.0.0.1\n"+strconv.Itoa(server.port)] > len(s.Watchers)/2 {
				found = server
			}
		}
		return fmt.Sprint(votes), found != nil
	})
	return found
}

// Replicas returns the other servers.
func (s *Sentinel) Replicas() []*Server {
	s.t.Helper()
	primary, replicas := s.Primary(), []*Server(nil)
	for _, server := range s.Servers {
		if server != primary {
			replicas = append(replicas, server)
		}
	}
	return replicas
}

// InStep waits until the replicas have received everything that the primary has
// written up to now.
func (s *Sentinel) InStep() {
	s.t.Helper()
	written, _ := strconv.Atoi(s.Primary().Info("replication", "master_repl_offset"))
	await(s.t, "replicas in step", func() (string, bool) {
		for _, r := range s.Replicas() {
			if received, _ := strconv.Atoi(r.Info("replication", "slave_repl_offset")); received < written {
				return fmt.Sprintf("%s has received %d of %d bytes", r.Addr(), received, written), false
			}
		}
		return "", true
	})
}

// Failover makes the sentinels fail over, as an operator does, and returns the new
// primary. It ends the test if that takes more than a minute. A sentinel refuses a failover
// shortly after the last one. It aborts one if another sentinel, which has just learned of
// the last failover, makes the new primary a replica again. So it is asked more than once.
func (s *Sentinel) Failover() *Server {
	s.t.Helper()
	old, operator := s.Primary(), s.Watchers[0]
	await(s.t, "a failover", func() (string, bool) {
		about, err := operator.Do("SENTINEL", "MASTER", watched)
		f := pairs(about)
		switch {
		case err != nil:
			return err.Error(), false
		case f["port"] != strconv.Itoa(old.port):
			return about, true
		case !strings.Contains(f["flags"], "failover_in_progress"):
			if reply, err := operator.Do("SENTINEL", "FAILOVER", watched); err != nil {
				return fmt.Sprint(reply, err), false
			}
		}
		return about, false
	})
	return s.Successor(old)
}

// Successor waits until the sentinels agree on a primary other than old, and that
// server reports the role of a primary. It returns that server.
func (s *Sentinel) Successor(old *Server) *Server {
	s.t.Helper()
	var next *Server
	await(s.t, "a successor of "+old.Addr(), func() (string, bool) {
		next = s.Primary()
		return next.Addr(), next != old && next.Info("replication", "role") == "master"
	})
	return next
}

// Spare prevents the sentinels from turning an old primary into a replica of its
// successor. The old primary keeps its role, like one that the sentinels cannot reach.
// Before 7.0 that lasts for eight seconds.
func (s *Sentinel) Spare() {
	for _, w := range s.Watchers {
		_, _ = w.Do("SENTINEL", "DEBUG", "PUBLISH-PERIOD", "600000") // a sentinel waits for four such periods before it demotes a server
	}
}

// Overtake promotes a replica without the sentinels. It makes the old primary a replica
// and ends the subscriptions there, as sentinels do. A client sees the same if its
// sentinel is the last to learn of a failover: for a second or two, the sentinel still
// names the old server. [Sentinel.Successor] waits for the sentinels.
func (s *Sentinel) Overtake() (old, next *Server) {
	s.t.Helper()
	replicas := s.Replicas()
	old, next = s.Primary(), replicas[0]
	replicas[1].Must("CONFIG", "SET", "replica-priority", "0") // so that the sentinels do not promote it either
	next.Must("REPLICAOF", "NO", "ONE")
	old.Must("REPLICAOF", "127.0.0.1", strconv.Itoa(next.port))
	old.Must("CLIENT", "KILL", "TYPE", "pubsub")
	return old, next
}
