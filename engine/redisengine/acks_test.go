package redisengine_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// A grant that too few replicas acknowledge is undone.
func TestAcks(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t, "--repl-timeout", "3600")
	for _, w := range s.Watchers {
		w.Stop() // the test stops replicas itself
	}
	primary, replicas := s.Servers[0], s.Servers[1:]
	acks := func(a redisengine.Acks) *redisengine.Engine {
		return open(t, primary, redisengine.Acknowledge(a), redisengine.AckTimeout(5*time.Second))
	}
	one, most, all := acks(redisengine.AnyAck), acks(redisengine.QuorumAcks), acks(redisengine.AllAcks)
	for i, e := range []*redisengine.Engine{one, most, all} { // so that each engine has counted both replicas
		r := withIndex(request(t, ann, "a"), i)
		granted(t, e, r)
		released(t, e, r, engine.ReleaseResult{Outcome: engine.Released})
		claimAndSettle(t, e, r.Key, nil)
	}

	replicas[0].Kill()
	granted(t, one, withIndex(request(t, ann, "b"), 10))
	granted(t, most, withIndex(request(t, ann, "b"), 11))
	refusedForAcks(t, primary, all, withIndex(request(t, ann, "b"), 12))

	replicas[1].Kill()
	refusedForAcks(t, primary, one, withIndex(request(t, ann, "c"), 20))
	refusedForAcks(t, primary, most, withIndex(request(t, ann, "c"), 21))

	// The attempt can be repeated when the replicas are back.
	replicas[1].Restart()
	eventually(t, "the replica acknowledges again", func() bool {
		_, err := one.Acquire(context.Background(), withIndex(request(t, ann, "c"), 20))
		return err == nil
	})
}

func withIndex(r engine.Request, i int) engine.Request { r.Key += ":" + strconv.Itoa(i); return r }

// refusedForAcks checks that neither a lock nor a claim is granted, and that no key is left.
func refusedForAcks(t *testing.T, s *redistest.Server, e *redisengine.Engine, r engine.Request) {
	t.Helper()
	refused(t, e, r, engine.ErrUnavailable)
	if n := number(t, s, "EXISTS", r.Key); n != 0 {
		t.Errorf("%s exists, want it undone", r.Key)
	}
	claimAndSettle(t, e, r.Key, engine.ErrUnavailable)
	record, err := e.Capabilities().Ledger.Lookup(context.Background(), r.Key)
	if err != nil || record.State != engine.Absent {
		t.Errorf("the record of %s is %+v, %v; want none", r.Key, record, err)
	}
}

// claimAndSettle makes a claim, and settles it if it is granted.
func claimAndSettle(t *testing.T, e *redisengine.Engine, key string, want error) {
	t.Helper()
	l := e.Capabilities().Ledger
	c := engine.Claim{Key: key, Attempt: key, Lease: time.Minute, Retain: time.Hour}
	if _, err := l.Claim(context.Background(), c); !errors.Is(err, want) {
		t.Fatalf("claim: %v, want %v", err, want)
	}
	if want == nil {
		s := engine.Settlement{Key: key, Attempt: key, Outcome: engine.Done, Retain: time.Hour}
		if o, err := l.Settle(context.Background(), s); err != nil || o != engine.Released {
			t.Fatalf("settle: %v, %v; want %v", o, err, engine.Released)
		}
	}
}

// An outcome is stored even if no replica acknowledges it, but a failover may lose it.
func TestAnUnacknowledgedOutcomeIsStoredButUnknown(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	l := open(t, s).Capabilities().Ledger
	c := engine.Claim{Key: key(t), Attempt: "a", Lease: time.Minute, Retain: time.Hour}
	if _, err := l.Claim(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	acked := open(t, s, redisengine.Acknowledge(redisengine.AnyAck), redisengine.AckTimeout(50*time.Millisecond)).Capabilities().Ledger
	_, err := acked.Settle(context.Background(), engine.Settlement{Key: c.Key, Attempt: "a", Outcome: engine.Done, Retain: time.Hour})
	if !errors.Is(err, engine.ErrUnknown) {
		t.Errorf("settle: %v, want %v", err, engine.ErrUnknown)
	}
	if r, err := l.Lookup(context.Background(), c.Key); err != nil || r.State != engine.Done {
		t.Errorf("the record is %+v, %v; want it done", r, err)
	}
}

func TestBadAcks(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("Acknowledge accepts an unknown value")
		}
	}()
	redisengine.Acknowledge("most")
}

func TestSlot(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--cluster-enabled", "yes")
	for _, k := range []string{"", "a", "order:42", "{order:42}:x", "a{b}c{d}", "{}a", "a{b", "a}b{c}", "订单:42", "x{{y}}z"} {
		if got, want := redisengine.Slot(k), number(t, s, "CLUSTER", "KEYSLOT", k); int64(got) != want {
			t.Errorf("the slot of %q is %d, want %d", k, got, want)
		}
	}
}

func TestASettlementThatWritesNothingNeedsNoReplica(t *testing.T) {
	t.Parallel()
	l := open(t, redistest.Start(t), redisengine.Acknowledge(redisengine.AnyAck), redisengine.AckTimeout(50*time.Millisecond)).Capabilities().Ledger
	o, err := l.Settle(context.Background(), engine.Settlement{Key: key(t), Attempt: "a", Outcome: engine.Done, Retain: time.Hour})
	if err != nil || o != engine.AlreadyFree {
		t.Errorf("settle: %v, %v, want %v", o, err, engine.AlreadyFree)
	}
}
