package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/etcd"
	"github.com/interlock-go/interlock/internal/testing/etcdtest"
)

// TestLimits meets the limits of etcd.
func TestLimits(t *testing.T) {
	sharedTests(t, map[string]func(*testing.T, *etcdtest.Member){
		"a result that is too large is refused and the claim can be settled otherwise": func(t *testing.T, m *etcdtest.Member) {
			l, c := open(t, m.URL()).Capabilities().Ledger, claim()
			if _, err := l.Claim(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			s := engine.Settlement{Key: c.Key, Attempt: c.Attempt, Outcome: engine.Done, Retain: time.Hour, Result: make([]byte, 3<<20)}
			_, err := l.Settle(t.Context(), s)
			if err == nil || engine.Temporary(err) || !strings.Contains(err.Error(), "too large") {
				t.Errorf("settle with 3 MiB: %v, want an error that says so", err)
			}
			s.Result = make([]byte, 900<<10)
			if o, err := l.Settle(t.Context(), s); err != nil || o != engine.Released {
				t.Errorf("settle with 900 KiB: %v, %v", o, err)
			}
			if r, err := l.Lookup(t.Context(), c.Key); err != nil || len(r.Result) != len(s.Result) {
				t.Errorf("the result has %d bytes, %v; want %d", len(r.Result), err, len(s.Result))
			}
		},
		"texts that are not UTF-8 are kept": func(t *testing.T, m *etcdtest.Member) {
			e, r := open(t, m.URL()), request("holder \xff \x00")
			r.Key += "/\xfe%2F"
			r.Attempt += "\xfd"
			g := granted(t, e, r)
			if b := busy(t, e, by(bob, r)); b.Holder != r.Holder {
				t.Errorf("the holder is %q, want %q", b.Holder, r.Holder)
			}
			if again := granted(t, e, r); again != g {
				t.Errorf("the grant went from %+v to %+v", g, again)
			}
			locks, _, err := e.List(t.Context(), engine.Literal(r.Key), "")
			if err != nil || len(locks) != 1 || locks[0].Key != r.Key {
				t.Errorf("the lock is listed as %+v, %v", locks, err)
			}
			released(t, e, r, engine.Released)
			c := claim()
			c.Fingerprint = "\xff\xfe"
			if _, err := e.Capabilities().Ledger.Claim(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			c.Attempt, c.Fingerprint = "another", "\xff\xfd"
			_, err = e.Capabilities().Ledger.Claim(t.Context(), c)
			wantError(t, err, engine.ErrMismatch)
		},
		"a forced release of more holders than fit into one transaction": func(t *testing.T, m *etcdtest.Member) {
			e, r := open(t, m.URL()), request(ann)
			r.Kind, r.Limit = engine.Permit, 250
			var all []engine.Request
			for i := range r.Limit {
				all = append(all, by(fmt.Sprintf("client-%d:1", i), r))
				granted(t, e, all[i])
			}
			wake, stop := e.Watch("client-249")
			defer stop()
			notified(t, wake)
			l, err := e.ForceRelease(t.Context(), r.Key)
			if err != nil || len(l.Holders) != r.Limit {
				t.Fatalf("force-release: %d holders, %v; want %d", len(l.Holders), err, r.Limit)
			}
			for i, err := range e.Renew(t.Context(), all) {
				if !errors.Is(err, engine.ErrRevoked) {
					t.Fatalf("renewal %d: %v, want %v", i, err, engine.ErrRevoked)
				}
			}
			notified(t, wake)
		},
		"a key that holds something else is refused": func(t *testing.T, m *etcdtest.Member) {
			e, client, r := open(t, m.URL()), connect(t, m.Addr()), request(ann)
			if _, err := client.Put(t.Context(), "interlock/lock/"+r.Key+"/hold/exclusive/x", "not JSON"); err != nil {
				t.Fatal(err)
			}
			_, err := e.Acquire(t.Context(), r)
			wantError(t, err, engine.ErrKind, engine.ErrUnknown)
		},
		"observers see each request": func(t *testing.T, m *etcdtest.Member) {
			e, r := open(t, m.URL()), request(ann)
			var seen []string
			stop := e.Capabilities().Observe(func(c engine.ServerCall) {
				if c.Err != nil {
					t.Errorf("%s: %v", c.Operation, c.Err)
				}
				seen = append(seen, c.Operation)
			})
			granted(t, e, r)
			released(t, e, r, engine.Released)
			stop()
			granted(t, e, r)
			if got := strings.Join(seen, " "); got != "read-lock lease-grant acquire release" {
				t.Errorf("the observer saw %q", got)
			}
		},
		"two engines with different prefixes do not share locks": func(t *testing.T, m *etcdtest.Member) {
			one, two, r := open(t, m.URL()), open(t, m.URL()+"?prefix=shop/"), request(ann)
			granted(t, one, r)
			granted(t, two, by(bob, r))
		},
	})
	t.Run("a full database refuses and says so", func(t *testing.T) {
		t.Parallel()
		m := etcdtest.Start(t, "--quota-backend-bytes", "2000000")
		e, client, r := open(t, m.URL()), connect(t, m.Addr()), request(ann)
		granted(t, e, r)
		stuck := request(ann)
		granted(t, e, stuck)
		granted(t, e, by(ann, stuck))
		l, done, absent := e.Capabilities().Ledger, claim(), claim()
		for _, c := range []engine.Claim{done, absent} {
			if _, err := l.Claim(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		for i := 0; err == nil && i < 1000; i++ {
			_, err = client.Put(t.Context(), fmt.Sprint("filler", i), strings.Repeat("x", 100_000))
		}
		_, err = e.Acquire(t.Context(), request(ann))
		wantError(t, err, engine.ErrFull, engine.ErrUnknown, engine.ErrUnavailable)
		renewed(t, e, r) // a lease is begun again without a write
		_, err = e.Abandon(t.Context(), r)
		wantError(t, err, engine.ErrFull, engine.ErrUnknown)
		released(t, e, r, engine.Released)
		_, err = e.Release(t.Context(), stuck)
		wantError(t, err, engine.ErrFull, engine.ErrUnknown)
		if before, err := e.ForceRelease(t.Context(), stuck.Key); err != nil || len(before.Holders) != 1 {
			t.Errorf("force-release: %+v, %v; want the holder", before, err)
		}
		if after, err := e.Inspect(t.Context(), stuck.Key); err != nil || len(after.Holders) != 0 {
			t.Errorf("after a forced release the lock is %+v, %v; want no holder", after, err)
		}
		wantError(t, e.Renew(t.Context(), []engine.Request{stuck})[0], engine.ErrNotHolder, engine.ErrRevoked)
		_, err = l.Settle(t.Context(), engine.Settlement{Key: done.Key, Attempt: done.Attempt, Outcome: engine.Done, Retain: time.Hour})
		wantError(t, err, engine.ErrFull, engine.ErrUnknown)
		if o, err := l.Settle(t.Context(), engine.Settlement{Key: absent.Key, Attempt: absent.Attempt, Outcome: engine.Absent}); err != nil || o != engine.Released {
			t.Errorf("settle without an outcome: %v, %v", o, err)
		}
		h, err := e.Probe(t.Context())
		if err != nil || !slices.Equal(h.Nodes[0].Alarms, []string{"NOSPACE"}) || h.Nodes[0].MaxMemory != 2_000_000 {
			t.Errorf("probe: %+v, %v; want the alarm and the quota", h.Nodes, err)
		}
	})
	t.Run("users and permissions", func(t *testing.T) {
		t.Parallel()
		m := etcdtest.Start(t)
		secure(t, m)
		for user, want := range map[string]string{
			"":             "wants a user",
			"shop:wrong@":  "password in the URL is wrong",
			"guest:guest@": "grant the user readwrite",
		} {
			_, err := etcd.Open(t.Context(), "etcd://"+user+m.Addr(), etcd.Timeout(testTimeout))
			if err == nil || engine.Temporary(err) || !strings.Contains(err.Error(), want) {
				t.Errorf("open as %q: %v, want an error with %q", user, err, want)
			}
		}
		e, r := open(t, "etcd://shop:shop@"+m.Addr()), request(ann)
		granted(t, e, r)
		busy(t, e, by(bob, r))
		renewed(t, e, r)
		released(t, e, r, engine.Released)
		wake, stop := e.Notify(r)
		defer stop()
		notified(t, wake)
	})
}

// secure turns on authentication, with a user for the engine and one without permissions.
func secure(t testing.TB, m *etcdtest.Member) {
	t.Helper()
	ctx, client := t.Context(), connect(t, m.Addr())
	steps := []func() error{
		func() error { _, err := client.UserAdd(ctx, "root", "root"); return err },
		func() error { _, err := client.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := client.RoleAdd(ctx, "interlock"); return err },
		func() error {
			_, err := client.RoleGrantPermission(ctx, "interlock", "interlock/", clientv3.GetPrefixRangeEnd("interlock/"),
				clientv3.PermissionType(clientv3.PermReadWrite))
			return err
		},
		func() error { _, err := client.UserAdd(ctx, "shop", "shop"); return err },
		func() error { _, err := client.UserGrantRole(ctx, "shop", "interlock"); return err },
		func() error { _, err := client.UserAdd(ctx, "guest", "guest"); return err },
		func() error { _, err := client.AuthEnable(ctx); return err },
	}
	for i, step := range steps {
		if err := step(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"":                                 "is empty",
		"redis://localhost":                `begins with "redis:"`,
		"etcd://":                          "lacks a host",
		"etcd://a,,b":                      "lacks a host",
		"etcd://a/path":                    "has the path",
		"etcd://a?color=red":               `unknown parameter "color"`,
		"etcd://a?timeout=fast":            "invalid timeout",
		"etcd://a?timeout=-1s":             "above zero",
		"etcd://a?lazy=perhaps":            "invalid lazy",
		"etcd://a?timeout=1s;lazy=true":    "parameters that cannot be read",
		"etcd://a?prefix=secret%zz":        "parameters that cannot be read",
		"etcd://user:secret@a?prefix=%zz":  "parameters that cannot be read",
		"etcd://a?tls_ca=x":                "begin the URL with etcds://",
		"etcd://a?tls_name=x":              "begin the URL with etcds://",
		"etcds://a?tls_ca=/does/not/exist": "invalid tls_ca",
		"etcds://a?tls_cert=/no&tls_key=/": "cannot be used",
		"etcd://user:secret%zz@a":          "cannot be read",
		"etcd://user:/secret@a":            "cannot be read",
		"etcd://user:1?secret@a":           "cannot be read",
	} {
		_, err := etcd.Open(t.Context(), url)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("open %q: %v, want an error with %q", url, err, want)
		}
	}
}

func TestInvalidRequests(t *testing.T) {
	sharedTests(t, map[string]func(*testing.T, *etcdtest.Member){
		"a context that is done and a closed engine send nothing": func(t *testing.T, m *etcdtest.Member) {
			e := open(t, m.URL())
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := e.Probe(ctx)
			wantError(t, err, context.Canceled)
			_ = e.Close()
			_, err = e.Probe(t.Context())
			wantError(t, err, engine.ErrClosed)
		},
	})
}
