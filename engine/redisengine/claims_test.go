package redisengine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// openLedgerWithProxy calls openWithProxy and warmLedger.
func openLedgerWithProxy(t *testing.T) (*redistest.Server, *faultnet.Proxy, *redisengine.Engine) {
	t.Helper()
	s, p, e := openWithProxy(t)
	warmLedger(t, e)
	return s, p, e
}

// warmLedger runs each script once, so that the server has loaded it and a later call is
// one request.
func warmLedger(t *testing.T, e *redisengine.Engine) {
	t.Helper()
	c := engine.Claim{Key: "warm", Attempt: "w", Lease: time.Minute}
	claimed(t, e, c)
	claimRenewed(t, e, c, nil)
	settled(t, e, engine.Settlement{Key: c.Key, Attempt: c.Attempt}, engine.Released)
	settled(t, e, abandon(engine.Claim{Key: "warm", Attempt: "x", Lease: time.Millisecond}), engine.AlreadyFree)
	lookedUp(t, e, "warm", engine.Absent)
}

// numberedClaim returns the i-th of many claims.
func numberedClaim(i int) engine.Claim {
	return engine.Claim{Key: fmt.Sprint("claim:", i), Attempt: fmt.Sprint("a", i), Fingerprint: "f", Lease: time.Minute, Retain: time.Hour}
}

func TestConcurrentClaimsShareABatch(t *testing.T) {
	t.Parallel()
	s, p, e := openLedgerWithProxy(t)
	records := make([]engine.Record, concurrency)
	scripts := concurrently(t, s, p, func(i int) { records[i] = claimed(t, e, numberedClaim(i)) })
	if scripts > 8 {
		t.Errorf("%d scripts made %d claims, want at most 8", scripts, concurrency)
	}
	for i, r := range records {
		c := numberedClaim(i)
		lock, want := "interlock:guard:lock:{"+c.Key+"}", fmt.Sprintf("1r %d %d %d:%s1:f", r.Fence, r.Fence, len(c.Attempt), c.Attempt)
		if got := s.Must("GET", lock); got != want || r.Began.UnixMicro() != int64(r.Fence) {
			t.Errorf("claim %d is stored as %q, want %q", i, got, want)
		}
		wantTTL(t, s, lock, c.Lease)
		wantTTL(t, s, "interlock:guard:result:{"+c.Key+"}", c.Retain)
	}
	scripts = concurrently(t, s, p, func(i int) { settled(t, e, done(numberedClaim(i), fmt.Sprint("result ", i)), engine.Released) })
	if scripts > 8 {
		t.Errorf("%d scripts settled %d claims, want at most 8", scripts, concurrency)
	}
	for i := range records {
		if r := lookedUp(t, e, numberedClaim(i).Key, engine.Done); string(r.Result) != fmt.Sprint("result ", i) {
			t.Errorf("claim %d has the result %q, want %q", i, r.Result, fmt.Sprint("result ", i))
		}
	}
}

// Concurrent claims find records of every state. One batch answers all of them, and no
// claim needs a second call. The last digit of a claim's number selects its record:
//
//	0 no record             5 the claim itself, repeated
//	1 running               6 unknown, taken over
//	2 done                  7 running, with another fingerprint
//	3 failed                8 other data in the result entry
//	4 unknown               9 other data in the lock entry
func TestEveryAnswerOfABatchIsComplete(t *testing.T) {
	t.Parallel()
	s, p, e := openLedgerWithProxy(t)
	before := func(i int) engine.Claim {
		c := numberedClaim(i)
		c.Attempt = "before"
		return c
	}
	outcome := func(i int, o engine.State) engine.Settlement {
		x := done(before(i), fmt.Sprint("result ", i))
		x.Outcome = o
		return x
	}
	claimOf := func(i int) engine.Claim {
		c := numberedClaim(i)
		c.TakeOver = i%10 == 6
		if i%10 == 7 {
			c.Fingerprint = "g"
		}
		return c
	}
	records := make([]engine.Record, concurrency)
	for i := range concurrency {
		switch i % 10 {
		case 1, 7:
			records[i] = claimed(t, e, before(i))
		case 2, 3, 4, 6:
			records[i] = claimed(t, e, before(i))
			settled(t, e, outcome(i, map[int]engine.State{2: engine.Done, 3: engine.Failed, 4: engine.Unknown, 6: engine.Unknown}[i%10]), engine.Released)
		case 5:
			records[i] = claimed(t, e, numberedClaim(i))
		case 8:
			s.Must("HSET", "interlock:guard:result:{"+numberedClaim(i).Key+"}", "a", "1")
		case 9:
			s.Must("HSET", "interlock:guard:lock:{"+numberedClaim(i).Key+"}", "a", "1")
		}
	}
	scripts := concurrently(t, s, p, func(i int) {
		r, err := e.Capabilities().Ledger.Claim(context.Background(), claimOf(i))
		known := r.Key == claimOf(i).Key && r.Fence == records[i].Fence && r.Began.Equal(records[i].Began) && r.Fingerprint == "f" && r.Left > 0
		ok := false
		switch i % 10 {
		case 0:
			ok = err == nil && r.Granted && r.Fence > 0
		case 1:
			ok = err == nil && known && r.State == engine.Running && !r.Granted
		case 2:
			ok = err == nil && known && r.State == engine.Done && string(r.Result) == fmt.Sprint("result ", i)
		case 3:
			ok = err == nil && known && r.State == engine.Failed && string(r.Result) == fmt.Sprint("result ", i)
		case 4:
			ok = err == nil && known && r.State == engine.Unknown && r.Result == nil
		case 5:
			ok = err == nil && known && r.Granted
		case 6:
			ok = err == nil && r.Granted && r.Fence > records[i].Fence && r.Left == time.Minute
		case 7:
			ok = errors.Is(err, engine.ErrMismatch)
		case 8, 9:
			ok = errors.Is(err, engine.ErrKind)
		}
		if !ok {
			t.Errorf("claim %d: got %+v, %v; the record was %+v", i, r, err, records[i])
		}
	})
	if scripts > 8 {
		t.Errorf("%d scripts answered %d claims, want at most 8", scripts, concurrency)
	}

	scripts = concurrently(t, s, p, func(i int) {
		o, err := e.Capabilities().Ledger.Settle(context.Background(), done(claimOf(i), "new"))
		want := engine.Released
		if i%10 != 0 && i%10 != 5 && i%10 != 6 {
			want = engine.NotYours
		}
		if i%10 >= 8 && !errors.Is(err, engine.ErrKind) || i%10 < 8 && (err != nil || o != want) {
			t.Errorf("claim %d: settled as %v, %v; want %v", i, o, err, want)
		}
	})
	if scripts > 8 {
		t.Errorf("%d scripts answered %d settlements, want at most 8", scripts, concurrency)
	}
}

func TestOneOfManyConcurrentClaimsIsGranted(t *testing.T) {
	t.Parallel()
	s, p, e := openLedgerWithProxy(t)
	for _, takeOver := range []bool{false, true} {
		c := engine.Claim{Key: fmt.Sprint("one:", takeOver), Attempt: "before", Lease: time.Minute, Retain: time.Hour, TakeOver: takeOver}
		if takeOver {
			claimed(t, e, c)
			settled(t, e, engine.Settlement{Key: c.Key, Attempt: "before", Outcome: engine.Unknown, Retain: time.Hour}, engine.Released)
		}
		var granted atomic.Int64
		concurrently(t, s, p, func(i int) {
			c := c
			c.Attempt = fmt.Sprint("a", i)
			r, err := e.Capabilities().Ledger.Claim(context.Background(), c)
			if err != nil || r.State != engine.Running {
				t.Errorf("claim %d: got %+v, %v; want a running record", i, r, err)
			}
			if r.Granted {
				granted.Add(1)
			}
		})
		if granted.Load() != 1 {
			t.Errorf("%d claims were granted, want 1", granted.Load())
		}
	}
}

// If the user may not publish on the channels of some claims, the other claims of the
// batch are settled.
func TestAForbiddenSettlementDoesNotFailItsBatch(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := faultnet.New(t, s.Addr())
	s.Must("ACL", "SETUSER", "shop", "on", ">pw", "+@all", "~*", "resetchannels", "&interlock:guard:settled", "&*{warm*", "&*{claim:1*", "&*{claim:2*")
	e := openURL(t, "redis://shop:pw@"+p.Addr())
	warmLedger(t, e)
	s.Subscribe("SUBSCRIBE", "interlock:guard:settled")
	concurrently(t, s, p, func(i int) { claimed(t, e, numberedClaim(i)) })
	concurrently(t, s, p, func(i int) {
		allowed := strings.HasPrefix(fmt.Sprint(i), "1") || strings.HasPrefix(fmt.Sprint(i), "2")
		o, err := e.Capabilities().Ledger.Settle(context.Background(), done(numberedClaim(i), "r"))
		released := s.Must("EXISTS", "interlock:guard:lock:{"+numberedClaim(i).Key+"}") == "0"
		if released != allowed || (err == nil) != allowed || (o == engine.Released) != allowed {
			t.Errorf("claim %d: settled as %v, %v; lock entry deleted: %v; allowed: %v", i, o, err, released, allowed)
		}
		if !allowed {
			wantError(t, err, nil, "docs/redis.md")
		}
	})
}

func TestALargeResultIsNotBatched(t *testing.T) {
	t.Parallel()
	s, p, e := openLedgerWithProxy(t)
	concurrently(t, s, p, func(i int) { claimed(t, e, numberedClaim(i)) })
	result := strings.Repeat("0123456789abcdef", 1<<10)
	scripts := concurrently(t, s, p, func(i int) { settled(t, e, done(numberedClaim(i), result), engine.Released) })
	if scripts < concurrency {
		t.Errorf("%d scripts settled %d claims, want one for each", scripts, concurrency)
	}
	if r := lookedUp(t, e, numberedClaim(1).Key, engine.Done); string(r.Result) != result {
		t.Errorf("the stored result has %d bytes, want %d", len(r.Result), len(result))
	}
}

// TestClaimScript covers branches of claim.lua that the engine never reaches.
func TestClaimScript(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	text := scriptText(t, "record", "record_reply", "claim")
	const never, terms = "9000000000000000", "60000 60000 0"
	if got := s.Must("EVAL", text, "4", "l1", "l2", "r1", "r2", "1", "1:a0:", terms, "1:b0:", terms); strings.Contains(got, "\n") || got == "" {
		t.Errorf("late claims: got %q, want the time only", got)
	}
	if s.Must("EXISTS", "l1", "l2", "r1", "r2") != "0" {
		t.Error("late claims were stored")
	}
	// One key twice in a batch: the second claim is refused.
	got := strings.Split(s.Must("EVAL", text, "4", "l1", "l1", "r1", "r1", never, "1:a0:", terms, "1:b0:", terms), "\n")
	if len(got) != 8 || got[1] != "2" || got[2] != "1" || got[3] != got[0] {
		t.Errorf("claim.lua returns %q, want the time, index 2 and a running record", got)
	}
	if entry := s.Must("GET", "l1"); entry != "1r "+got[0]+" "+got[0]+" 1:a0:" {
		t.Errorf("the entry is %q, want the claim of the first attempt", entry)
	}
}
