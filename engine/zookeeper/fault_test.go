package zookeeper_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/zookeeper"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
	"github.com/interlock-go/interlock/internal/testing/zookeepertest"
)

// longSession keeps the client from sending pings while a test counts on the next packet.
const longSession = time.Minute

// proxied returns an engine behind a proxy.
func proxied(t testing.TB, s *zookeepertest.Server, opts ...zookeeper.Option) (*zookeeper.Engine, *faultnet.Proxy) {
	t.Helper()
	p := faultnet.New(t, s.Addr())
	return open(t, "zk://"+p.Addr(), opts...), p
}

func TestARepeatedAttemptWhoseReplyWasLostIsRecognized(t *testing.T) {
	t.Parallel()
	e, p := proxied(t, server(t), zookeeper.Session(longSession))
	r := request(t, ann, "a")
	granted(t, e, r) // creates the bucket
	released(t, e, r, engine.Released)
	r.Attempt = "b"
	p.CutAfterRequest()
	refused(t, e, r, engine.ErrUnknown)
	held := inspect(t, open(t, server(t).URL()), r.Key)
	if len(held.Holders) != 1 || held.Holders[0].Name != ann {
		t.Fatalf("the holders are %+v, want ann: the request had arrived", held.Holders)
	}
	r.Retry = true
	if g := granted(t, e, r); g.Count != 1 || g.Fence != held.Holders[0].Fence {
		t.Errorf("the repeated attempt got %+v, want the first grant %+v", g, held.Holders[0])
	}
	released(t, e, r, engine.Released)
}

func TestALateAcquireThatWasAbandonedIsRefused(t *testing.T) {
	t.Parallel()
	s := server(t)
	e, p := proxied(t, s, zookeeper.Session(longSession), zookeeper.Timeout(time.Second))
	other := open(t, s.URL())
	for _, kind := range []engine.Kind{engine.Exclusive, engine.Fair, engine.Read, engine.Write, engine.Permit} {
		r := request(t, ann, "a")
		r.Key += kind.String()
		r.Kind, r.Limit = kind, 1
		arrive := p.Hold(faultnet.Requests)
		refused(t, e, r, engine.ErrUnknown)
		if got, err := other.Abandon(context.Background(), r); err != nil || got.Outcome != engine.AlreadyFree {
			t.Fatalf("abandon of a %s lock: %v, %v; want already free", kind, got.Outcome, err)
		}
		arrive()
		after := r
		after.Holder, after.Attempt = bob, "b"
		granted(t, other, after)
		r.Retry = true
		eventually(t, "the engine answers again", func() bool {
			_, err := e.Acquire(context.Background(), r)
			if err == nil {
				t.Fatalf("the abandoned attempt for a %s lock was granted", kind)
			}
			return errors.Is(err, engine.ErrAbandoned)
		})
		released(t, other, after, engine.Released)
	}
}

// The version of a node begins at zero again when it was removed and created. A late
// change must not take the new node for the old one.
func TestALateChangeDoesNotChangeALaterDocument(t *testing.T) {
	t.Parallel()
	s := server(t)
	e, p := proxied(t, s, zookeeper.Session(longSession), zookeeper.Timeout(time.Second))
	other := open(t, s.URL())
	r := request(t, ann, "a")
	granted(t, e, r)
	arrive := p.Hold(faultnet.Requests)
	renewed(t, e, r, engine.ErrUnknown)
	released(t, other, r, engine.Released)
	next := request(t, bob, "b")
	before := granted(t, other, next)
	arrive()
	eventually(t, "the late renewal is refused", func() bool {
		return errors.Is(e.Renew(context.Background(), []engine.Request{r})[0], engine.ErrNotHolder)
	})
	held := inspect(t, e, r.Key)
	if len(held.Holders) != 1 || held.Holders[0].Name != bob || held.Holders[0].Fence != before.Fence {
		t.Errorf("after the late renewal the holders are %+v, want bob with fence %d", held.Holders, before.Fence)
	}
	released(t, other, next, engine.Released)
}

// A claim that expires while its settlement is on the way has an unknown outcome, which
// must not be removed with the document.
func TestALateSettlementLeavesTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	s := server(t)
	e, p := proxied(t, s, zookeeper.Session(longSession))
	l := e.Capabilities().Ledger
	c := engine.Claim{Key: key(t), Attempt: "a", Lease: 2 * time.Second, Retain: time.Hour}
	if r, err := l.Claim(t.Context(), c); err != nil || !r.Granted {
		t.Fatalf("claim: %+v, %v", r, err)
	}
	arrive := p.Hold(faultnet.Requests)
	settled := make(chan engine.Outcome)
	go func() {
		o, _ := l.Settle(t.Context(), engine.Settlement{Key: c.Key, Attempt: "a", Outcome: engine.Absent})
		settled <- o
	}()
	time.Sleep(2500 * time.Millisecond)
	arrive()
	if o := <-settled; o != engine.AlreadyFree {
		t.Errorf("the late settlement is %v, want %v", o, engine.AlreadyFree)
	}
	if r, err := open(t, s.URL()).Capabilities().Ledger.Lookup(t.Context(), c.Key); err != nil || r.State != engine.Unknown {
		t.Errorf("the record is %v, %v; want %v", r.State, err, engine.Unknown)
	}
}

func TestACallThatWasNotSentHasNoEffect(t *testing.T) {
	t.Parallel()
	s := server(t)
	e, p := proxied(t, s, zookeeper.Session(time.Second), zookeeper.Timeout(time.Second))
	p.Refuse(true)
	p.Reset()
	r := request(t, ann, "a")
	eventually(t, "the connection is lost", func() bool {
		_, err := e.Acquire(context.Background(), r)
		return errors.Is(err, engine.ErrUnavailable)
	})
	start := time.Now()
	refused(t, e, r, engine.ErrUnavailable)
	if took := time.Since(start); took > time.Minute {
		t.Errorf("the call took %v, and its timeout is 1s", took)
	}
	p.Refuse(false)
	eventually(t, "the engine connects again", func() bool {
		_, err := e.Inspect(context.Background(), r.Key)
		return err == nil
	})
	granted(t, e, r)
}

func TestALockOutlivesTheSessionOfItsHolder(t *testing.T) {
	t.Parallel()
	s := server(t)
	e, p := proxied(t, s, zookeeper.Session(600*time.Millisecond), zookeeper.Timeout(time.Second))
	r := request(t, ann, "a")
	first := granted(t, e, r)
	wake, stop := e.Notify(r)
	defer stop()
	awaitWake(t, wake)
	p.Refuse(true)
	p.Reset()
	time.Sleep(3 * time.Second) // five times the session
	busy(t, open(t, s.URL()), request(t, bob, "b"))
	if err := e.Renew(context.Background(), []engine.Request{r})[0]; !errors.Is(err, engine.ErrUnavailable) && !errors.Is(err, engine.ErrUnknown) {
		t.Errorf("renew without a connection: %v, want an error that is temporary", err)
	}
	p.Refuse(false)
	eventually(t, "the holder renews on a new session", func() bool { return e.Renew(context.Background(), []engine.Request{r})[0] == nil })
	awaitWake(t, wake) // a notification may have been lost
	r.Retry = true
	eventually(t, "the holder still has its fence", func() bool {
		g, err := e.Acquire(context.Background(), r)
		return err == nil && g.Fence == first.Fence
	})
	released(t, open(t, s.URL()), r, engine.Released)
	awaitWake(t, wake)
}

// A notification is sent once. A waiter whose engine was not connected then must ask
// again when it is.
func TestANotificationThatWasLostWithTheConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	s := server(t)
	other := open(t, s.URL())
	e, p := proxied(t, s, zookeeper.Session(longSession))
	r := request(t, ann, "a")
	granted(t, other, r)
	wake, stop := e.Notify(request(t, bob, "b"))
	defer stop()
	awaitWake(t, wake)
	p.Refuse(true)
	p.Reset()
	eventually(t, "the connection is lost", func() bool { return p.Connections() > 1 })
	released(t, other, r, engine.Released)
	p.Refuse(false)
	awaitWake(t, wake)
}

func TestAHolderWhoseLeaseExpiredWithoutConnectionHasLostTheLock(t *testing.T) {
	t.Parallel()
	s := server(t)
	e, p := proxied(t, s, zookeeper.Session(600*time.Millisecond))
	r := request(t, ann, "a")
	r.Lease = time.Second
	first := granted(t, e, r)
	p.Refuse(true)
	p.Reset()
	time.Sleep(1500 * time.Millisecond)
	next := granted(t, open(t, s.URL()), request(t, bob, "b"))
	if next.Fence <= first.Fence {
		t.Errorf("the fence went from %d to %d", first.Fence, next.Fence)
	}
	p.Refuse(false)
	renewed(t, e, r, engine.ErrNotHolder)
	released(t, e, r, engine.NotYours)
}

func TestAStoppedServerFailsCallsInTime(t *testing.T) {
	t.Parallel()
	s := zookeepertest.Start(t)
	e := open(t, s.URL(), zookeeper.Timeout(time.Second), zookeeper.Session(2*time.Second))
	r, c := request(t, ann, "a"), request(t, bob, "b")
	c.Key += "other"
	first := granted(t, e, r)
	patient := open(t, s.URL(), zookeeper.Timeout(time.Second), zookeeper.Session(longSession)) // keeps the connection
	s.Stop()
	start := time.Now()
	refused(t, e, c, engine.ErrUnknown)
	renewed(t, e, r, engine.ErrUnknown)
	if _, err := e.Inspect(context.Background(), key(t)+"third"); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("inspect: %v, want %v: it changes nothing", err, engine.ErrUnavailable)
	}
	if _, _, err := patient.List(context.Background(), "*", ""); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("list: %v, want %v", err, engine.ErrUnavailable)
	}
	if _, err := patient.Incarnation(context.Background()); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("incarnation: %v, want %v", err, engine.ErrUnavailable)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("five calls took %v, and their timeout is 1s", took)
	}
	s.Cont()
	eventually(t, "the holder renews", func() bool { return e.Renew(context.Background(), []engine.Request{r})[0] == nil })
	c.Retry = true
	eventually(t, "the repeated attempt is granted once", func() bool {
		g, err := e.Acquire(context.Background(), c)
		return err == nil && g.Count == 1
	})
	r.Retry = true
	if g := granted(t, e, r); g.Fence != first.Fence || g.Count != 1 {
		t.Errorf("got %+v, want %+v", g, first)
	}
}

func TestLocksOutliveARestartOfTheServer(t *testing.T) {
	t.Parallel()
	s := zookeepertest.Start(t)
	e := open(t, s.URL())
	r := request(t, ann, "a")
	first := granted(t, e, r)
	s.Kill()
	refused(t, open(t, s.URL(), zookeeper.Lazy(), zookeeper.Timeout(time.Second)), request(t, bob, "b"), engine.ErrUnavailable)
	s.Restart(t)
	busy(t, e, request(t, bob, "b"))
	renewed(t, e, r, nil)
	released(t, e, r, engine.Released)
	if g := granted(t, e, request(t, bob, "b")); g.Fence <= first.Fence {
		t.Errorf("the fence went from %d to %d", first.Fence, g.Fence)
	}
}

func TestACancelledCallSaysWhetherItWasSent(t *testing.T) {
	t.Parallel()
	s := server(t)
	e, p := proxied(t, s, zookeeper.Session(longSession))
	r := request(t, ann, "a")
	arrive := p.Hold(faultnet.Requests)
	defer arrive()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := e.Acquire(ctx, r); !errors.Is(err, engine.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("acquire: %v, want %v and %v", err, engine.ErrUnknown, context.DeadlineExceeded)
	}
	again, cancelAgain := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancelAgain()
	c := request(t, bob, "b") // waits behind the first call
	if _, err := e.Acquire(again, c); errors.Is(err, engine.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("acquire: %v, want %v alone: nothing was sent", err, context.DeadlineExceeded)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	s := server(t)
	e, p := proxied(t, s, zookeeper.Session(longSession))
	r := request(t, ann, "a")
	granted(t, e, r)
	_, stop := e.Notify(r)
	defer stop()
	defer p.Hold(faultnet.Requests)()
	failed := make(chan error)
	go func() { failed <- e.Renew(context.Background(), []engine.Request{r})[0] }()
	time.Sleep(100 * time.Millisecond)
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; !errors.Is(err, engine.ErrUnknown) {
		t.Errorf("a call that was sent before Close: %v, want %v", err, engine.ErrUnknown)
	}
	refused(t, e, r, engine.ErrClosed)
	if _, err := e.Release(context.Background(), r); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("release after Close: %v, want %v", err, engine.ErrClosed)
	}
}

func inspect(t testing.TB, e *zookeeper.Engine, key string) engine.Lock {
	t.Helper()
	l, err := e.Inspect(context.Background(), key)
	if err != nil {
		t.Fatalf("inspect: %v", err)
	}
	return l
}

func awaitWake(t testing.TB, wake <-chan struct{}) {
	t.Helper()
	select {
	case <-wake:
	case <-time.After(2 * time.Minute):
		t.Fatal("no notification within two minutes")
	}
}
