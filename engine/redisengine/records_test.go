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
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// TestRecordFormat checks the entries byte for byte.
func TestRecordFormat(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)

	t.Run("a claim has two entries, and an outcome has one", func(t *testing.T) {
		t.Parallel()
		c := claim(t, "a1")
		lock, result := "interlock:guard:lock:{"+c.Key+"}", "interlock:guard:result:{"+c.Key+"}"
		r := claimed(t, e, c)
		want := fmt.Sprintf("%d %d 2:a13:pay", r.Fence, r.Began.UnixMicro())
		if got := s.Must("GET", lock); got != "1r "+want {
			t.Errorf("the lock entry is %q, want %q", got, "1r "+want)
		}
		if got := s.Must("GET", result); got != "1r "+want {
			t.Errorf("the result entry is %q, want %q", got, "1r "+want)
		}
		wantTTL(t, s, lock, c.Lease)
		wantTTL(t, s, result, c.Retain)
		settled(t, e, done(c, "the\x00\r\nbody"), engine.Released)
		if s.Must("EXISTS", lock) != "0" {
			t.Error("the lock entry exists after the settlement")
		}
		if got := s.Must("GET", result); got != "d1r "+want+"the\x00\r\nbody" {
			t.Errorf("the result entry is %q, want the outcome d with the result", got)
		}
		wantTTL(t, s, result, time.Minute)
		if r := lookedUp(t, e, c.Key, engine.Done); string(r.Result) != "the\x00\r\nbody" || r.Fingerprint != "pay" {
			t.Errorf("lookup: %+v, want the result and fingerprint", r)
		}
	})

	t.Run("a claim that retains nothing has no result entry", func(t *testing.T) {
		t.Parallel()
		c := claim(t, "a1")
		c.Retain = 0
		claimed(t, e, c)
		if s.Must("EXISTS", "interlock:guard:lock:{"+c.Key+"}", "interlock:guard:result:{"+c.Key+"}") != "1" {
			t.Error("a claim that retains nothing has a result entry, or no lock entry")
		}
	})

	t.Run("a claim that takes over an unknown outcome has the mark t; if it is abandoned, the outcome is unknown again", func(t *testing.T) {
		t.Parallel()
		c, taken := claim(t, "a1"), claim(t, "a2")
		result := "interlock:guard:result:{" + c.Key + "}"
		taken.TakeOver, taken.Fingerprint = true, ""
		claimed(t, e, c)
		settled(t, e, engine.Settlement{Key: c.Key, Attempt: "a1", Outcome: engine.Unknown, Result: []byte("x"), Retain: time.Minute}, engine.Released)
		if got := s.Must("GET", result); !strings.HasPrefix(got, "u1r ") || !strings.HasSuffix(got, " 2:a13:pay") {
			t.Errorf("the result entry is %q, want the outcome u of attempt a1", got)
		}
		r := claimed(t, e, taken)
		want := fmt.Sprintf("%d %d 2:a23:pay", r.Fence, r.Began.UnixMicro())
		if got := s.Must("GET", result); got != "1t "+want || r.Fingerprint != "pay" {
			t.Errorf("the result entry is %q, want %q", got, "1t "+want)
		}
		settled(t, e, abandon(taken), engine.Released)
		if got := s.Must("GET", result); got != "u1t "+want {
			t.Errorf("the result entry is %q, want %q", got, "u1t "+want)
		}
		wantTTL(t, s, result, taken.Retain)
	})

	t.Run("a claim that takes over and retains nothing deletes the earlier result entry", func(t *testing.T) {
		t.Parallel()
		c := claim(t, "a1")
		claimed(t, e, c)
		settled(t, e, engine.Settlement{Key: c.Key, Attempt: "a1", Outcome: engine.Unknown, Retain: time.Minute}, engine.Released)
		c.Attempt, c.TakeOver, c.Retain = "a2", true, 0
		claimed(t, e, c)
		if s.Must("EXISTS", "interlock:guard:lock:{"+c.Key+"}", "interlock:guard:result:{"+c.Key+"}") != "1" {
			t.Error("the result entry of the unknown outcome exists, or the lock entry does not")
		}
		settled(t, e, abandon(c), engine.Released)
		lookedUp(t, e, c.Key, engine.Absent)
	})

	t.Run("a fingerprint that looks like an attempt is not taken for one", func(t *testing.T) {
		t.Parallel()
		c := claim(t, "a1")
		c.Fingerprint = "2:a2"
		claimed(t, e, c)
		c.Attempt = "a2"
		claimRenewed(t, e, c, engine.ErrNotHolder)
		settled(t, e, done(c, "r"), engine.NotYours)
		lookedUp(t, e, c.Key, engine.Running)
	})

	t.Run("a claim without an expiry runs until it is settled", func(t *testing.T) {
		t.Parallel()
		c := claim(t, "a1")
		claimed(t, e, c)
		s.Must("PERSIST", "interlock:guard:lock:{"+c.Key+"}")
		otherClaim := claim(t, "a2")
		otherClaim.TakeOver = true
		claimRefused(t, e, otherClaim, engine.Running)
		lookedUp(t, e, c.Key, engine.Running)
		settled(t, e, done(otherClaim, "r"), engine.NotYours)
		settled(t, e, done(c, "r"), engine.Released)
	})

	t.Run("a lease is not rounded to whole seconds", func(t *testing.T) {
		t.Parallel()
		c := claim(t, "a1")
		c.Lease, c.Retain = 1700*time.Millisecond, 1900*time.Millisecond
		claimed(t, e, c)
		wantTTL(t, s, "interlock:guard:lock:{"+c.Key+"}", c.Lease)
		wantTTL(t, s, "interlock:guard:result:{"+c.Key+"}", c.Retain)
	})

	t.Run("an abandoned claim leaves a tombstone", func(t *testing.T) {
		t.Parallel()
		c := claim(t, "a1")
		claimed(t, e, c)
		settled(t, e, abandon(c), engine.Released)
		wantTTL(t, s, "interlock:guard:abandoned:{"+c.Key+"}:a1", c.Lease)
		if s.Must("EXISTS", "interlock:guard:lock:{"+c.Key+"}", "interlock:guard:result:{"+c.Key+"}") != "0" {
			t.Error("an abandoned claim left an entry")
		}
	})

	t.Run("a settlement publishes 0 on the channel of the record", func(t *testing.T) {
		t.Parallel()
		c := claim(t, "a1")
		s.Subscribe("SUBSCRIBE", "interlock:guard:settled") // otherwise nothing is published
		next := s.Subscribe("SUBSCRIBE", "interlock:guard:settled:{"+c.Key+"}")
		claimed(t, e, c)
		settled(t, e, done(c, ""), engine.Released)
		if got := next(); got != "0" {
			t.Errorf("the message is %q, want 0", got)
		}
	})
}

func TestRecordNames(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)

	t.Run("P5: with the prefix of the original specification, the Redis keys have the names that it specifies", func(t *testing.T) {
		t.Parallel()
		e := openURL(t, s.URL()+"?records=operation-log:idempotent-")
		c := claim(t, "a1")
		c.Key = "p5"
		claimed(t, e, c)
		wantTTL(t, s, "operation-log:idempotent-lock:{p5}", c.Lease)
		settled(t, e, done(c, "r"), engine.Released)
		wantTTL(t, s, "operation-log:idempotent-result:{p5}", time.Minute)
	})

	t.Run("an entry's name contains the prefixes of both options, Prefix and Records", func(t *testing.T) {
		t.Parallel()
		e := open(t, s, redisengine.Prefix("shop:"), redisengine.Records("once:"))
		c := claim(t, "a1")
		c.Key = "order"
		claimed(t, e, c)
		if s.Must("EXISTS", "once:lock:{shop:order}", "once:result:{shop:order}") != "2" {
			t.Error("the entries do not have the prefixes")
		}
	})

	t.Run("similar names stay different", func(t *testing.T) {
		t.Parallel()
		e := open(t, s, redisengine.Records("alike:"))
		for key, name := range map[string]string{
			"44": "{44}", "{44}": "{{44}}", "{{44}}": "{{{44}}}", "order:{44}": "order:{44}", "{44}:order": "{44}:order", "{4}{4}": "{{4}{4}}",
		} {
			c := claim(t, "a1")
			c.Key, c.Fingerprint = key, key
			claimed(t, e, c)
			if s.Must("EXISTS", "alike:lock:"+name) != "1" {
				t.Errorf("the lock entry of key %s is not %s", key, name)
			}
		}
		records, _, err := e.Capabilities().Ledger.List(context.Background(), "*4*", "")
		if err != nil || len(records) != 6 {
			t.Errorf("the list has %d records, %v; want 6", len(records), err)
		}
		for _, r := range records {
			if r.Key != r.Fingerprint {
				t.Errorf("%s is listed as %s", r.Fingerprint, r.Key)
			}
		}
	})

	t.Run("all keys of a record are in one slot", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e := open(t, s)
		for _, key := range []string{"44", "{44}", "order:{44}", "{44}:order", "{4}{4}", "a}b{c}"} {
			c, abandonedClaim := claim(t, "a1"), claim(t, "a2")
			c.Key, abandonedClaim.Key = key, key
			claimed(t, e, c)
			settled(t, e, abandon(abandonedClaim), engine.NotYours)
			names := strings.Split(s.Must("KEYS", "*"), "\n")
			for _, name := range names {
				if tag(name) != tag(names[0]) || tag(name) == "" {
					t.Errorf("%s: the keys %s and %s have different hash tags", key, name, names[0])
				}
			}
			if len(names) != 3 {
				t.Errorf("%s has the keys %q, want 3", key, names)
			}
			s.Must("FLUSHALL")
		}
	})

	t.Run("all records are listed, and no other data", func(t *testing.T) {
		t.Parallel()
		e := open(t, s, redisengine.Prefix("shop:"), redisengine.Records("lists:"))
		running, kept, abandoned := numberedClaim(1), numberedClaim(2), numberedClaim(3)
		running.Retain = 0
		claimed(t, e, running)
		claimed(t, e, kept)
		settled(t, e, done(kept, "r"), engine.Released)
		settled(t, e, abandon(abandoned), engine.AlreadyFree)
		s.Must("SET", "lists:result:{shop:claim:4}", "x")
		s.Must("HSET", "lists:lock:{shop:claim:5}", "a", "1")
		s.Must("SET", "lists:lock:{other:claim:6}", s.Must("GET", "lists:lock:{shop:claim:1}"))
		states := make(map[string]engine.State)
		for cursor, first := "", true; cursor != "" || first; first = false {
			var records []engine.Record
			var err error
			if records, cursor, err = e.Capabilities().Ledger.List(context.Background(), "claim*", cursor); err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				states[r.Key] = r.State
				if r.Result != nil || r.Left <= 0 || r.Fence == 0 {
					t.Errorf("the list has %+v, want a lease, a fence and no result", r)
				}
			}
		}
		if want := map[string]engine.State{"claim:1": engine.Running, "claim:2": engine.Done}; fmt.Sprint(states) != fmt.Sprint(want) {
			t.Errorf("the list has %v, want %v", states, want)
		}
	})

	t.Run("a prefix with a brace is refused", func(t *testing.T) {
		t.Parallel()
		if _, err := redisengine.Open(context.Background(), s.URL()+"?records=a{b"); err == nil || !strings.Contains(err.Error(), "brace") {
			t.Errorf("Open: err = %v, want one about the brace", err)
		}
		defer func() {
			if recover() == nil {
				t.Error("Records does not panic")
			}
		}()
		redisengine.Records("}")
	})
}

// tag returns the hash tag of a key: from the first { to the next }.
func tag(name string) string {
	_, after, _ := strings.Cut(name, "{")
	tag, _, _ := strings.Cut(after, "}")
	return tag
}

// TestOtherDataIsNotChangedByRecords puts other data at the key of each entry.
func TestOtherDataIsNotChangedByRecords(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	for i, foreign := range []struct{ name, set, get string }{
		{"a string", "SET %s x", "GET %s"},
		{"a truncated record", "SET %s d1r_0000000000000001_0000000000000001_2:x93:pa", "GET %s"},
		{"a record without a fingerprint", "SET %s d1r_0000000000000001_0000000000000001_2:x9", "GET %s"},
		{"a record with a short number", "SET %s d1r_1_0000000000000001_2:x93:pay", "GET %s"},
		{"a record of another version", "SET %s d2r_0000000000000001_0000000000000001_2:x93:pay", "GET %s"},
		{"a hash", "HSET %s a 1", "HGETALL %s"},
	} {
		for _, entry := range []string{"lock", "result"} {
			for _, retain := range []time.Duration{0, time.Minute} {
				t.Run(fmt.Sprintf("%s for the %s entry, retain %v", foreign.name, entry, retain), func(t *testing.T) {
					t.Parallel()
					c := claim(t, "a1")
					c.Key, c.Retain = fmt.Sprintf("foreign:%d:%s:%v", i, entry, retain), retain
					name := "interlock:guard:" + entry + ":{" + c.Key + "}"
					command := func(text string) []string {
						words := strings.Split(fmt.Sprintf(text, name), " ")
						words[len(words)-1] = strings.ReplaceAll(words[len(words)-1], "_", " ")
						return words
					}
					s.Must(command(foreign.set)...)
					before := s.Must(command(foreign.get)...)
					wantUnchanged := func(what string, err error) {
						t.Helper()
						if !errors.Is(err, engine.ErrKind) {
							t.Errorf("%s: %v, want ErrKind", what, err)
						}
						if after := s.Must(command(foreign.get)...); after != before || s.Must("PTTL", name) != "-1" {
							t.Errorf("%s changed the data from %q to %q", what, before, after)
						}
					}
					l, ctx := e.Capabilities().Ledger, context.Background()
					_, err := l.Claim(ctx, c)
					wantUnchanged("claim", err)
					_, err = l.Lookup(ctx, c.Key)
					wantUnchanged("lookup", err)
					_, err = l.Settle(ctx, done(c, "r"))
					wantUnchanged("settle", err)
					_, err = l.Settle(ctx, abandon(c))
					wantUnchanged("abandon", err)
					if n := s.Must("EXISTS", "interlock:guard:lock:{"+c.Key+"}", "interlock:guard:result:{"+c.Key+"}"); n != "1" {
						t.Errorf("%s entries exist, want 1", n)
					}
				})
			}
		}
	}
}
