package redistest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/testing/child"
)

// slots is the number of slots of a cluster.
const slots = 16384

// A Cluster has three primaries that share the slots, with one replica each.
type Cluster struct {
	t       testing.TB
	Servers []*Server // the first three start as primaries
}

// StartCluster runs six processes until the test ends, and returns when all of
// them report the cluster complete. A node counts as down after a second. All nodes
// get the arguments.
func StartCluster(t testing.TB, args ...string) *Cluster {
	t.Helper()
	child.SkipIfShort(t, "needs several servers")
	c := &Cluster{t: t}
	args = append([]string{
		"--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-allow-replica-migration", "no", "--cluster-require-full-coverage", "no",
		"--repl-diskless-sync-delay", "0",
	}, args...)
	for range 6 {
		c.Servers = append(c.Servers, Start(t, args...))
	}
	for i, p := range c.Servers[:3] {
		p.Must("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
		p.addSlots(slots*i/3, slots*(i+1)/3)
	}
	for _, s := range c.Servers[1:] {
		c.Servers[0].Must("CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(s.port))
	}
	c.awaitMeet()
	for i, p := range c.Servers[:3] {
		c.Servers[3+i].Must("CLUSTER", "REPLICATE", p.Must("CLUSTER", "MYID"))
	}
	c.Healthy()
	return c
}

// StartNode runs a cluster of one node, which has all slots, until the test ends.
func StartNode(t testing.TB, args ...string) *Server {
	t.Helper()
	s := Start(t, append([]string{"--cluster-enabled", "yes"}, args...)...)
	s.addSlots(0, slots)
	return s
}

// addSlots gives the node the slots from from up to, but not including, to.
func (s *Server) addSlots(from, to int) {
	s.t.Helper()
	args := []string{"CLUSTER", "ADDSLOTS"} // Redis 6 takes no ranges
	for slot := from; slot < to; slot++ {
		args = append(args, strconv.Itoa(slot))
	}
	s.Must(args...)
}

// awaitMeet waits until every node knows every other node.
func (c *Cluster) awaitMeet() {
	c.t.Helper()
	await(c.t, "nodes that know each other", func() (string, bool) {
		for _, s := range c.Servers {
			nodes := s.Must("CLUSTER", "NODES")
			if strings.Count(nodes, " connected") != len(c.Servers) || strings.Contains(nodes, "handshake") {
				return nodes, false
			}
		}
		return "", true
	})
}

// Healthy waits until all nodes report the cluster complete, and each primary has a
// connected replica. The test must have restarted all nodes that were down.
func (c *Cluster) Healthy() {
	c.t.Helper()
	await(c.t, "a healthy cluster", func() (string, bool) {
		for _, s := range c.Servers {
			info, err := s.Do("CLUSTER", "INFO")
			if err != nil || !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, "cluster_slots_ok:16384") {
				return fmt.Sprint(s.Addr(), info, err), false
			}
			nodes, _ := s.Do("CLUSTER", "NODES")
			if strings.Contains(nodes, "fail") || strings.Count(nodes, "slave ") != 3 {
				return nodes, false
			}
			if s.Info("replication", "role") == "slave" && s.Info("replication", "master_link_status") != "up" {
				return s.Addr() + " is not connected to its primary", false
			}
		}
		for _, p := range c.Primaries() {
			if !strings.Contains(p.Must("INFO", "replication"), "state=online") {
				return p.Addr() + " has no replica", false
			}
		}
		return "", true
	})
}

// URL returns the URL of the cluster for [redisengine.Open].
func (c *Cluster) URL() string { return "redis+cluster://" + addresses(c.Servers) }

// Step moves the wall clocks of all nodes by d; see [Server.Step]. The node timeout of
// the cluster must be longer than d.
func (c *Cluster) Step(d time.Duration) {
	for _, s := range c.Servers {
		s.Step(d)
	}
}

// Addrs returns the addresses of all nodes.
func (c *Cluster) Addrs() []string { return strings.Split(addresses(c.Servers), ",") }

// Primaries returns the nodes that report the role of a primary.
func (c *Cluster) Primaries() []*Server {
	var all []*Server
	for _, s := range c.Servers {
		if s.answers() && s.Info("replication", "role") == "master" {
			all = append(all, s)
		}
	}
	return all
}

// Slot returns the slot of a key.
func (c *Cluster) Slot(key string) int {
	c.t.Helper()
	n, err := strconv.Atoi(c.alive().Must("CLUSTER", "KEYSLOT", key))
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

func (c *Cluster) alive() *Server {
	for _, s := range c.Servers {
		if s.answers() {
			return s
		}
	}
	c.t.Fatal("no node of the cluster is running")
	return nil
}

// Home returns the primary that reports the slot of a key as its own.
func (c *Cluster) Home(key string) *Server {
	c.t.Helper()
	slot := c.Slot(key)
	var home *Server
	await(c.t, "the home of "+key, func() (string, bool) {
		for _, s := range c.Servers {
			if s.answers() && s.Info("replication", "role") == "master" && s.serves(slot) {
				home = s
			}
		}
		return fmt.Sprint(slot), home != nil
	})
	return home
}

// serves reports whether a primary reports a slot as its own.
func (s *Server) serves(slot int) bool {
	nodes, _ := s.Do("CLUSTER", "NODES")
	for line := range strings.Lines(nodes) {
		if f := strings.Fields(line); strings.Contains(line, "myself,master") {
			for _, r := range f[min(len(f), 8):] {
				from, to, ranged := strings.Cut(r, "-")
				a, errA := strconv.Atoi(from)
				b, errB := strconv.Atoi(to)
				if !ranged {
					b, errB = a, errA
				}
				if errA == nil && errB == nil && a <= slot && slot <= b {
					return true
				}
			}
		}
	}
	return false
}

// ReplicaOf returns the replica of a primary.
func (c *Cluster) ReplicaOf(p *Server) *Server {
	c.t.Helper()
	var replica *Server
	await(c.t, "a replica of "+p.Addr(), func() (string, bool) {
		for _, s := range c.Servers {
			if s.answers() && s.Info("replication", "master_port") == strconv.Itoa(p.port) {
				replica = s
			}
		}
		return "", replica != nil
	})
	return replica
}

// Failover promotes the replica of p as an operator does: p refuses writes until the
// replica has caught up. It returns the new primary.
func (c *Cluster) Failover(p *Server) *Server {
	c.t.Helper()
	r := c.ReplicaOf(p)
	r.Must("CLUSTER", "FAILOVER")
	await(c.t, "a failover", func() (string, bool) {
		role := r.Info("replication", "role")
		return role, role == "master" && p.Info("replication", "role") == "slave"
	})
	return r
}

// Promoted waits until r is a primary.
func (c *Cluster) Promoted(r *Server) {
	c.t.Helper()
	await(c.t, r.Addr()+" as a primary", func() (string, bool) {
		role := r.Info("replication", "role")
		return role, role == "master"
	})
}

// A Move is the migration of a slot from one primary to another.
type Move struct {
	c        *Cluster
	slot     string
	from, to *Server
}

// Begin starts to move the slot of a key to another primary. Until End, the old primary
// redirects a request to the new one if it no longer has the key.
func (c *Cluster) Begin(key string, to *Server) *Move {
	c.t.Helper()
	m := &Move{c: c, slot: strconv.Itoa(c.Slot(key)), from: c.Home(key), to: to}
	to.Must("CLUSTER", "SETSLOT", m.slot, "IMPORTING", m.from.Must("CLUSTER", "MYID"))
	m.from.Must("CLUSTER", "SETSLOT", m.slot, "MIGRATING", to.Must("CLUSTER", "MYID"))
	return m
}

// Carry moves up to n keys, and returns how many it moved.
func (m *Move) Carry(n int) int {
	m.c.t.Helper()
	keys := strings.Fields(m.from.Must("CLUSTER", "GETKEYSINSLOT", m.slot, strconv.Itoa(n)))
	if len(keys) > 0 {
		m.from.Must(append([]string{"MIGRATE", "127.0.0.1", strconv.Itoa(m.to.port), "", "0", "5000", "KEYS"}, keys...)...)
	}
	return len(keys)
}

// End moves the remaining keys, and tells all primaries where the slot is now.
func (m *Move) End() {
	m.c.t.Helper()
	id := m.to.Must("CLUSTER", "MYID")
	for m.Carry(100) > 0 {
	}
	m.to.Must("CLUSTER", "SETSLOT", m.slot, "NODE", id)
	await(m.c.t, "slot "+m.slot+" at its new home", func() (string, bool) {
		// A client may have made a key meanwhile.
		for m.Carry(100) > 0 {
		}
		reply, err := m.from.Do("CLUSTER", "SETSLOT", m.slot, "NODE", id)
		return fmt.Sprint(reply, err), err == nil
	})
	for _, p := range m.c.Primaries() {
		_, _ = p.Do("CLUSTER", "SETSLOT", m.slot, "NODE", id)
	}
}
