package etcd_test

import (
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/etcd"
)

// revokeAll revokes all leases, as an operator can.
func revokeAll(t testing.TB, client *clientv3.Client) {
	t.Helper()
	all, err := client.Leases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all.Leases {
		if _, err := client.Revoke(t.Context(), l.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// useEverything leaves a key of each sort that expires, with leases of 10s or 20s.
func useEverything(t testing.TB, e *etcd.Engine) {
	t.Helper()
	soon := func(r engine.Request) engine.Request {
		r.Lease, r.QueueLease = 10*time.Second, 10*time.Second
		return r
	}
	caps := e.Capabilities()
	for _, kind := range []engine.Kind{engine.Fair, engine.Read, engine.Write, engine.Permit} {
		r := soon(request(ann))
		r.Kind, r.Limit = kind, 1
		granted(t, e, r)
		if kind == engine.Read {
			continue
		}
		busy(t, e, by(bob, r))
		if _, err := e.Abandon(t.Context(), by("c:1", r)); err != nil {
			t.Fatal(err)
		}
	}
	r := soon(request(ann))
	r.Kind, r.Limit = engine.Latch, 2
	if _, err := caps.Latcher.CountDown(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	c := claim()
	c.Lease, c.Retain = 10*time.Second, 20*time.Second
	if _, err := caps.Ledger.Claim(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	s := engine.Settlement{Key: c.Key, Attempt: c.Attempt, Abandon: true, Lease: 10 * time.Second}
	s.Attempt += "-other"
	if _, err := caps.Ledger.Settle(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := caps.Inspector.Register(t.Context(), engine.Member{ID: "m"}, 10*time.Second); err != nil {
		t.Fatal(err)
	}
}
