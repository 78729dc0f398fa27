package zookeeper_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/zookeeper"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
)

// TestARefusedUser proves that calls say what to do, and that the client does not connect
// again and again without a pause.
func TestARefusedUser(t *testing.T) {
	t.Parallel()
	var accepts atomic.Bool
	answer := func(operation int32) int32 {
		if operation == authOperation && !accepts.Load() {
			return authFailed
		}
		return 0
	}
	f := startFake(t, answer)
	says := func(what string, err error) {
		t.Helper()
		if err == nil || engine.Temporary(err) || !errors.Is(err, zk.ErrAuthFailed) || !strings.Contains(err.Error(), "check the user in the URL") {
			t.Errorf("%s: %v, want an error that is not temporary and says to check the user", what, err)
		}
	}
	_, err := zookeeper.Open(t.Context(), f.url(), zookeeper.Timeout(testTimeout))
	says("open", err)

	f = startFake(t, answer) // the first one may still accept the connection of the closed engine
	e := open(t, f.url(), zookeeper.Lazy())
	_, err = e.Acquire(t.Context(), request(t, ann, "a"))
	says("acquire", err)
	_, _, err = e.List(t.Context(), "", "")
	says("list", err)
	says("renew", e.Renew(t.Context(), []engine.Request{request(t, ann, "a")})[0])

	eventually(t, "the client has connected six times", func() bool { return len(f.connections()) >= 6 })
	at := f.connections()
	if took, pauses := at[5].Sub(at[0]), 600*time.Millisecond; took < pauses { // 20+40+80+160+320 ms
		t.Errorf("the client connected six times in %v, want pauses of at least %v", took, pauses)
	}
	accepts.Store(true)
	eventually(t, "the client connects", func() bool { return e.Connections() == 1 })
}

// The reply to the user and the loss of the connection reach the client at the same time.
func TestAConnectionThatWasLostDoesNotServe(t *testing.T) {
	t.Parallel()
	e, p := proxied(t, server(t), zookeeper.Session(longSession))
	up := e.AuthenticateLate(func() {
		p.Refuse(true)
		p.Reset()
	})
	if up {
		t.Error("a connection serves although it was lost")
	}
}

// A server may lack the scheme or the user while it is reconfigured, and the others not.
func TestOneServerThatRefusesTheUserIsNotEnough(t *testing.T) {
	t.Parallel()
	f := startFake(t, func(int32) int32 { return authFailed })
	p := faultnet.New(t, server(t).Addr())
	for len(f.connections()) < 4 { // the order of the servers is random
		e := open(t, f.url()+","+p.Addr()+"/"+key(t))
		r := request(t, ann, rand.Text())
		granted(t, e, r)
		p.Reset()
		eventually(t, "the lock is released", func() bool {
			_, err := e.Release(context.Background(), r)
			if err != nil && !engine.Temporary(err) {
				t.Fatalf("release: %v, want none or a temporary error", err)
			}
			return err == nil
		})
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The refusal of a connection can reach the client after the next one serves.
func TestARefusalOfAnEarlierConnectionIsIgnored(t *testing.T) {
	t.Parallel()
	e, p := proxied(t, server(t))
	if err := e.RefuseLate(p.Reset); err != nil {
		t.Errorf("the user is refused: %v, and the present connection serves", err)
	}
}

// A server that refuses a request has not executed it.
func TestRefusedRequestsHaveNoEffect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		code int32
		want error // nil if no retry helps
		says string
	}{
		{"a quota is exceeded", quotaExceeded, engine.ErrFull, "raise the quota"},
		{"the server throttles", throttled, engine.ErrOverloaded, "too many requests"},
		{"SASL is required", saslRequired, nil, "set a user in the URL"},
		{"a permission is missing", noAuth, nil, "lacks a permission"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := startFake(t, func(operation int32) int32 {
				if operation == authOperation {
					return 0
				}
				return c.code
			})
			e := open(t, f.url(), zookeeper.Lazy())
			_, acquire := e.Acquire(t.Context(), request(t, ann, "a"))
			_, inspect := e.Inspect(t.Context(), key(t))
			for call, err := range map[string]error{"acquire": acquire, "inspect": inspect} {
				switch {
				case err == nil || errors.Is(err, engine.ErrUnknown) || !strings.Contains(err.Error(), c.says):
					t.Errorf("%s: %v, want an error that says %q", call, err, c.says)
				case c.want != nil && !errors.Is(err, c.want), c.want == nil && engine.Temporary(err):
					t.Errorf("%s: %v, want %v", call, err, c.want)
				}
			}
		})
	}
}
