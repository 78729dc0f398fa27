package redistest_test

import (
	"testing"

	"github.com/interlock-go/interlock/internal/testing/redistest"
)

func TestSentinel(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t)
	first := s.Primary()
	first.Must("SET", "k", "v")
	s.InStep()

	second := s.Failover()
	if second == first || second.Must("GET", "k") != "v" {
		t.Fatalf("the primary after a failover from %s is %s, want another server with its data", first.Addr(), second.Addr())
	}
	s.Healthy()
	if n := len(s.Replicas()); n != 2 {
		t.Errorf("%d replicas, want 2", n)
	}

	second.Kill()
	third := s.Successor(second)
	if third.Must("GET", "k") != "v" {
		t.Errorf("%s replaced a dead primary without its data", third.Addr())
	}
	second.Restart()
	s.Healthy()
}

func TestCluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t)
	home := c.Home("k")
	home.Must("SET", "k", "v")

	next := c.Failover(home)
	if next.Must("GET", "k") != "v" || c.Home("k") != next {
		t.Fatalf("%s replaced %s without its data or its slots", next.Addr(), home.Addr())
	}
	c.Healthy()

	next.Kill()
	c.Promoted(home)
	next.Restart()
	c.Healthy()

	var to *redistest.Server
	for _, p := range c.Primaries() {
		if p != home {
			to = p
		}
	}
	m := c.Begin("k", to)
	if n := m.Carry(10); n != 1 {
		t.Errorf("%d keys were moved, want 1", n)
	}
	m.End()
	if c.Home("k") != to || to.Must("GET", "k") != "v" {
		t.Error("the slot was moved without its key")
	}
}
