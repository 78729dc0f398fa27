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

// watched is the name by which sentinels know their primary.
const watched = "main"

// A Sentinel is a primary with two replicas and three sentinels that watch over
// them.
type Sentinel struct {
	t        testing.TB
	Servers  []*Server // the first is the primary to begin with
	Watchers []*Server
}

// StartSentinel runs six processes until the test ends, and returns when the
// sentinels know all there is. A primary counts as down after half a second. The
// arguments are those of the three servers.
func StartSentinel(t testing.TB, args ...string) *Sentinel {
	t.Helper()
	s := &Sentinel{t: t}
	primary := Start(t, args...)
	s.Servers = append(s.Servers, primary)
	for range 2 {
		s.Servers = append(s.Servers, Start(t, append([]string{"--replicaof", "127.0.0.1 " + strconv.Itoa(primary.port)}, args...)...))
	}
	for _, r := range s.Servers {
		r.Must("CONFIG", "SET", "repl-diskless-sync-delay", "0")
	}
	primary.inSync(2)
	for range 3 {
		w := &Server{t: t, main: fmt.Sprintf("127.0.0.1 %d", primary.port)}
		w.start(nil)
		// Else it takes a replica for one after ten seconds. Before 7.0 it must be so.
		_, _ = w.Do("SENTINEL", "DEBUG", "INFO-PERIOD", "500", "PUBLISH-PERIOD", "250")
		s.Watchers = append(s.Watchers, w)
	}
	s.Healthy()
	return s
}

// Patient keeps the sentinels from failing over when a slow machine stops the primary for
// a moment. It is for tests in which no server fails.
func (s *Sentinel) Patient() *Sentinel {
	s.t.Helper()
	for _, w := range s.Watchers {
		w.Must("SENTINEL", "SET", watched, "down-after-milliseconds", "600000")
	}
	return s
}

// sentinelArguments are those of a sentinel, which keeps what it knows in a file.
func (s *Server) sentinelArguments() ([]string, error) {
	file := filepath.Join(s.dir, "sentinel.conf")
	if _, err := os.Stat(file); err == nil && s.log != nil && s.known() {
		return []string{file, "--sentinel"}, nil // it is started again
	}
	text := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\n"+
		"sentinel monitor %s %s 2\n"+
		"sentinel down-after-milliseconds %[3]s 500\n"+
		"sentinel failover-timeout %[3]s 4000\n"+
		"sentinel parallel-syncs %[3]s 2\n", s.port, s.dir, watched, s.main)
	return []string{file, "--sentinel"}, os.WriteFile(file, []byte(text), 0o600)
}

// known reports whether the sentinel's file is of its present port.
func (s *Server) known() bool {
	text, err := os.ReadFile(filepath.Join(s.dir, "sentinel.conf"))
	return err == nil && strings.Contains(string(text), fmt.Sprintf("port %d\n", s.port))
}

// URL names the sentinels as [redisengine.Open] reads it.
func (s *Sentinel) URL() string {
	return "redis+sentinel://" + addresses(s.Watchers) + "/" + watched
}

// Addrs are the addresses of the sentinels.
func (s *Sentinel) Addrs() []string { return strings.Split(addresses(s.Watchers), ",") }

// Step moves the wall clocks of the servers by d; see [Server.Step].
func (s *Sentinel) Step(d time.Duration) {
	for _, server := range s.Servers {
		server.Step(d)
	}
}

// Main is the name of the primary.
func (s *Sentinel) Main() string { return watched }

func addresses(servers []*Server) string {
	addrs := make([]string, len(servers))
	for i, s := range servers {
		addrs[i] = s.Addr()
	}
	return strings.Join(addrs, ",")
}

// Healthy waits until all sentinels see the same primary, two replicas, and
// each other, and the replicas are in touch with it.
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
			// Their view of a replica is up to ten seconds old.
			if replicas, _ := w.Do("SENTINEL", "REPLICAS", watched); strings.Contains(replicas, "_down") {
				return replicas, false
			}
		}
		if len(seen) != 1 {
			return fmt.Sprint(seen), false
		}
		// The two ends of a link do not change at the same time.
		for _, r := range s.Replicas() {
			if info, _ := r.Do("INFO", "replication"); !strings.Contains(info, "master_link_status:up") {
				return info, false
			}
		}
		info, _ := s.Primary().Do("INFO", "replication")
		return info, strings.Count(info, "state=online") == 2
	})
}

// pairs reads a reply of names and values in turn.
func pairs(reply string) map[string]string {
	lines, m := strings.Split(reply, "\n"), make(map[string]string)
	for i := 0; i+1 < len(lines); i += 2 {
		m[lines[i]] = lines[i+1]
	}
	return m
}

// Primary is the server that the sentinels take for the primary.
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

// Replicas are the other servers.
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

// InStep waits until the replicas have heard of all that the primary has written
// up to now.
func (s *Sentinel) InStep() {
	s.t.Helper()
	written, _ := strconv.Atoi(s.Primary().Info("replication", "master_repl_offset"))
	await(s.t, "replicas in step", func() (string, bool) {
		for _, r := range s.Replicas() {
			if heard, _ := strconv.Atoi(r.Info("replication", "slave_repl_offset")); heard < written {
				return fmt.Sprint(heard, " of ", written), false
			}
		}
		return "", true
	})
}

// Failover asks for another primary, as an operator does, and returns it. It
// fails if the sentinels have not agreed on one within the minute.
func (s *Sentinel) Failover() *Server {
	s.t.Helper()
	old := s.Primary()
	await(s.t, "a failover", func() (string, bool) { // sentinels wait a while after the last
		reply, err := s.Watchers[0].Do("SENTINEL", "FAILOVER", watched)
		if err != nil {
			time.Sleep(100 * time.Millisecond)
		}
		return fmt.Sprint(reply, err), err == nil
	})
	return s.Successor(old)
}

// Successor waits until the sentinels agree on another primary than old, which
// knows that it is one, and returns it.
func (s *Sentinel) Successor(old *Server) *Server {
	s.t.Helper()
	var next *Server
	await(s.t, "a successor of "+old.Addr(), func() (string, bool) {
		next = s.Primary()
		return next.Addr(), next != old && next.Info("replication", "role") == "master"
	})
	return next
}

// Spare keeps the sentinels from making a replica of a primary that has a successor: it
// will go on as if nothing had happened, like one that they cannot reach. Before 7.0 it
// is spared for eight seconds.
func (s *Sentinel) Spare() {
	for _, w := range s.Watchers {
		_, _ = w.Do("SENTINEL", "DEBUG", "PUBLISH-PERIOD", "600000") // they wait for four of these
	}
}

// Overtake makes a replica the primary behind the sentinels' backs, with the old one as
// its replica, and ends the subscriptions there, as sentinels do. This is
// the view of a client whose sentinel is the last to learn of a failover: for a second
// or two it is still sent to the old server. [Sentinel.Successor] waits for the sentinels.
func (s *Sentinel) Overtake() (old, next *Server) {
	s.t.Helper()
	replicas := s.Replicas()
	old, next = s.Primary(), replicas[0]
	replicas[1].Must("CONFIG", "SET", "replica-priority", "0") // nor will they choose that one
	next.Must("REPLICAOF", "NO", "ONE")
	old.Must("REPLICAOF", "127.0.0.1", strconv.Itoa(next.port))
	old.Must("CLIENT", "KILL", "TYPE", "pubsub")
	return old, next
}
