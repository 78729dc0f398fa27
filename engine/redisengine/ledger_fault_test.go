package redisengine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

func TestALedgerWithoutMemory(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	cs := make([]engine.Claim, 8)
	for i := range cs {
		cs[i] = numberedClaim(i)
		if i%2 == 1 {
			cs[i].Retain = 0
		}
	}
	for _, c := range cs[:7] {
		claimed(t, e, c)
	}
	settled(t, e, done(cs[6], "kept"), engine.Released)
	s.Must("CONFIG", "SET", "maxmemory", "1")

	_, err := e.Capabilities().Ledger.Claim(context.Background(), cs[7])
	wantError(t, err, engine.ErrFull, "maxmemory")
	if r := claimRefused(t, e, engine.Claim{Key: cs[6].Key, Attempt: "b", Lease: time.Minute}, engine.Done); string(r.Result) != "kept" {
		t.Errorf("the result is %q, want kept", r.Result)
	}
	for _, c := range cs[:6] {
		c.Lease = time.Hour
		claimRenewed(t, e, c, nil)
		claimed(t, e, c) // a repeated claim
		wantTTL(t, s, "interlock:guard:lock:{"+c.Key+"}", time.Hour)
	}
	result := strings.Repeat("r", 10_000)
	for i, c := range cs[:4] {
		settled(t, e, done(c, result[i:]), engine.Released)
		if r := lookedUp(t, e, c.Key, engine.Done); string(r.Result) != result[i:] {
			t.Errorf("the stored result has %d bytes, want %d", len(r.Result), len(result[i:]))
		}
	}
	for _, c := range cs[4:6] {
		settled(t, e, abandon(c), engine.Released)
		lookedUp(t, e, c.Key, engine.Absent)
	}
	_, err = e.Capabilities().Ledger.Settle(context.Background(), abandon(cs[7]))
	wantError(t, err, engine.ErrFull, "maxmemory")
}

func TestALedgerWithoutScripts(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	for range 2 {
		s.Must("SCRIPT", "FLUSH")
		warmLedger(t, e)
	}
	if _, _, err := e.Capabilities().Ledger.List(context.Background(), "*", ""); err != nil {
		t.Error(err)
	}
}

// lateClaims checks claims that arrive after they were abandoned.
func lateClaims(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.SteppedClock)
	warmLedger(t, open(t, s))
	lock := func(c engine.Claim) string { return "interlock:guard:lock:{" + c.Key + "}" }

	// stuck holds a claim on the network while its caller gives up and abandons it.
	stuck := func(t *testing.T, c engine.Claim) (arrive func()) {
		t.Helper()
		e, p := openFaulty(t, s)
		claimed(t, e, engine.Claim{Key: c.Key + " before", Attempt: "a", Lease: time.Second}) // now the engine knows the server's clock
		arrive = p.Hold(faultnet.Requests)
		t.Cleanup(arrive)
		ctx, cancel := canceled(context.Background(), 100*time.Millisecond)
		defer cancel()
		if _, err := e.Capabilities().Ledger.Claim(ctx, c); !errors.Is(err, engine.ErrUnknown) {
			t.Fatalf("Claim: err = %v, want %v", err, engine.ErrUnknown)
		}
		settled(t, open(t, s), abandon(c), engine.AlreadyFree)
		return arrive
	}

	t.Run("a repeated claim is refused by its tombstone", func(t *testing.T) {
		c := claim(t, "a")
		c.Retry = true
		arrive := stuck(t, c)
		before := scripts(t, s)
		arrive()
		eventually(t, "the late request arrives", func() bool { return scripts(t, s) > before })
		if s.Must("EXISTS", lock(c)) != "0" {
			t.Error("the late claim was granted")
		}
		if _, err := open(t, s).Capabilities().Ledger.Claim(context.Background(), c); !errors.Is(err, engine.ErrAbandoned) {
			t.Errorf("Claim: err = %v, want %v", err, engine.ErrAbandoned)
		}
	})

	t.Run("a first claim is refused by the clock after the timeout", func(t *testing.T) {
		s.NeedsClock(t)
		c := claim(t, "a")
		arrive := stuck(t, c)
		s.Step(testTimeout)
		before := scripts(t, s)
		arrive()
		eventually(t, "the late request arrives", func() bool { return scripts(t, s) > before })
		if s.Must("EXISTS", lock(c)) != "0" {
			t.Error("the late claim was granted")
		}
	})

	t.Run("a first claim is granted within the timeout, and can be abandoned again", func(t *testing.T) {
		c := claim(t, "a")
		arrive := stuck(t, c)
		arrive()
		eventually(t, "the late claim is granted", func() bool { return s.Must("EXISTS", lock(c)) == "1" })
		settled(t, open(t, s), abandon(c), engine.Released)
	})

	t.Run("a late claim that was not abandoned is granted", func(t *testing.T) {
		s := redistest.Start(t, redistest.SteppedClock)
		e := open(t, s)
		warmLedger(t, e)
		s.Step(time.Hour)
		claimed(t, e, claim(t, "a"))
	})
}

func TestRecordsAndTheClock(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.SteppedClock)
	s.NeedsClock(t)
	e := open(t, s)

	t.Run("fences of a record rise however the clock is set", func(t *testing.T) {
		c := claim(t, "a0")
		c.TakeOver = true
		last := claimed(t, e, c)
		for i, step := range []time.Duration{-time.Hour, 20 * time.Second, -time.Minute} {
			settled(t, e, engine.Settlement{Key: c.Key, Attempt: c.Attempt, Outcome: engine.Unknown, Retain: 9 * time.Hour}, engine.Released)
			s.Step(step)
			c.Attempt = fmt.Sprint("a", i+1)
			r := claimed(t, e, c)
			if r.Fence != last.Fence+1 {
				t.Errorf("the fence after a step of %v is %d, want %d", step, r.Fence, last.Fence+1)
			}
			if again := claimed(t, e, c); again.Fence != r.Fence || !again.Began.Equal(r.Began) {
				t.Errorf("the repeated claim got %+v, want %+v as before", again, r)
			}
			last = r
		}
	})

	t.Run("retention from the start counts from the grant, and is not longer if the clock is set back", func(t *testing.T) {
		for _, x := range []struct {
			step, want time.Duration
		}{{20 * time.Second, 40 * time.Second}, {-time.Hour, time.Minute}} {
			c := claim(t, "a")
			c.Key += x.step.String()
			c.Lease = time.Hour
			claimed(t, e, c)
			s.Step(x.step)
			y := done(c, "r")
			y.FromStart = true
			settled(t, e, y, engine.Released)
			wantTTL(t, s, "interlock:guard:result:{"+c.Key+"}", x.want)
		}
	})

	t.Run("an outcome whose retention from the start has passed is not stored", func(t *testing.T) {
		c := claim(t, "a")
		c.Lease = time.Hour
		claimed(t, e, c)
		s.Step(2 * time.Minute)
		y := done(c, "r")
		y.FromStart = true
		settled(t, e, y, engine.Released)
		if n := s.Must("EXISTS", "interlock:guard:lock:{"+c.Key+"}", "interlock:guard:result:{"+c.Key+"}"); n != "0" {
			t.Errorf("%s entries are left, want none", n)
		}
	})
}

func TestSettlementsArePublishedToSubscribersOnly(t *testing.T) {
	t.Parallel()
	for _, m := range []redisengine.PublishMode{redisengine.Plain, redisengine.Sharded} {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			if m == redisengine.Sharded {
				redistest.Needs7(t)
			}
			s := redistest.Start(t)
			e := open(t, s, redisengine.Publish(m))
			published := func() int {
				return strings.Count(s.Must("INFO", "commandstats"), "cmdstat_"+strings.ToLower(string(m))+":")
			}
			c := claim(t, "a")
			claimed(t, e, c)
			settled(t, e, done(c, "r"), engine.Released)
			if published() != 0 {
				t.Error("the settlement was published without subscribers")
			}
			c.Key += "2"
			claimed(t, e, c)
			wake, stop := open(t, s, redisengine.Publish(m)).Capabilities().Ledger.Watch(c.Key)
			defer stop()
			awaitWake(t, wake) // subscribed to both channels
			listening := func() bool {
				command := map[redisengine.PublishMode]string{redisengine.Plain: "NUMSUB", redisengine.Sharded: "SHARDNUMSUB"}[m]
				return s.Must("PUBSUB", command, "interlock:guard:settled") == "interlock:guard:settled\n1" &&
					strings.HasSuffix(s.Must("PUBSUB", command, "interlock:guard:settled:{"+c.Key+"}"), "\n1")
			}
			eventually(t, "the subscriber listens on both channels", listening)
			for len(wake) > 0 {
				<-wake
			}
			settled(t, e, done(c, "r"), engine.Released)
			awaitWake(t, wake)
			if published() != 1 {
				t.Error("the settlement was not published")
			}
		})
	}

	t.Run("a user who may not count subscribers publishes always", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		s.Must("ACL", "SETUSER", "shop", "on", ">pw", "~*", "&*", "+@all", "-pubsub")
		e := openURL(t, "redis://shop:pw@"+s.Addr())
		c := claim(t, "a")
		next := s.Subscribe("SUBSCRIBE", "interlock:guard:settled:{"+c.Key+"}")
		claimed(t, e, c)
		settled(t, e, done(c, "r"), engine.Released)
		if got := next(); got != "0" {
			t.Errorf("the message is %q, want 0", got)
		}
	})

	t.Run("a user who may not publish keeps the claim, and the error says why", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		s.Must("ACL", "SETUSER", "shop", "on", ">pw", "~*", "+@all", "resetchannels")
		s.Subscribe("SUBSCRIBE", "interlock:guard:settled")
		e := openURL(t, "redis://shop:pw@"+s.Addr())
		for i, settle := range []func(engine.Claim) engine.Settlement{
			func(c engine.Claim) engine.Settlement { return done(c, "r") }, abandon,
		} {
			c := numberedClaim(i)
			claimed(t, e, c)
			_, err := e.Capabilities().Ledger.Settle(context.Background(), settle(c))
			wantError(t, err, nil, "docs/redis.md")
			lookedUp(t, e, c.Key, engine.Running)
		}
	})
}
