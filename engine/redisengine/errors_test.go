package redisengine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// kinds are the errors that callers distinguish.
var kinds = []error{
	engine.ErrUnknown, engine.ErrUnavailable, engine.ErrFull, engine.ErrOverloaded, engine.ErrKind,
	engine.ErrAbandoned, engine.ErrClosed, engine.ErrNotHolder, engine.ErrUpgrade,
}

// wantError checks that err matches want and no other error of kinds, and that its text has
// the hint.
func wantError(t *testing.T, err, want error, hint string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %v", want)
	}
	for _, kind := range kinds {
		if errors.Is(err, kind) != (want != nil && errors.Is(kind, want)) {
			t.Errorf("%v: errors.Is(err, %q) = %v, want only %v to match", err, kind, errors.Is(err, kind), want)
		}
	}
	if !strings.HasPrefix(err.Error(), "redis: ") || !strings.Contains(err.Error(), hint) {
		t.Errorf("err = %q, want a text with %q", err, hint)
	}
}

// A broken client answers every call with the same error.
type broken struct{ err error }

func (b broken) Eval(context.Context, *redisengine.Call) (redisengine.Reply, error) {
	return redisengine.Reply{}, b.err
}

func (b broken) Listen(context.Context, redisengine.PublishMode, func(string)) (redisengine.Listener, error) {
	return nil, b.err
}

func (b broken) Close() error { return nil }

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want error
		hint string
	}{
		{redisengine.ReplyError("LOADING Redis is loading the dataset in memory"), engine.ErrUnavailable, "loading its data"},
		{redisengine.ReplyError("BUSY Redis is busy running a script."), engine.ErrUnavailable, "SLOWLOG"},
		{redisengine.ReplyError("READONLY You can't write against a read only replica."), engine.ErrUnavailable, "primary"},
		{redisengine.ReplyError("MASTERDOWN Link with MASTER is down"), engine.ErrUnavailable, "primary"},
		{redisengine.ReplyError("NOREPLICAS Not enough good replicas to write."), engine.ErrUnavailable, "min-replicas-to-write"},
		{redisengine.ReplyError("TRYAGAIN Multiple keys request during rehashing of slot"), engine.ErrUnavailable, "retry"},
		{redisengine.ReplyError("CLUSTERDOWN Hash slot not served"), engine.ErrUnavailable, "CLUSTER INFO"},
		{redisengine.ReplyError("MISCONF Redis is configured to save RDB snapshots"), engine.ErrUnavailable, "disk"},
		{redisengine.ReplyError("OOM command not allowed when used memory > 'maxmemory'."), engine.ErrFull, "maxmemory"},
		{redisengine.ReplyError("WRONGTYPE Operation against a key"), engine.ErrKind, "another name"},
		// Redis 6.2 names the script and line of an error.
		{redisengine.ReplyError("ERR Error running script (call to f_9b3f): @user_script:64: WRONGTYPE Operation against a key"), engine.ErrKind, "another name"},
		{redisengine.ReplyError("Error running script (call to f_9b3f): @user_script:64: WRONGTYPE Operation against a key"), engine.ErrKind, "another name"},
		{redisengine.ReplyError("ERR Error running script (call to f_9b3f): @user_script:64: @user_script: 64: -OOM command not allowed"), engine.ErrFull, "maxmemory"},
		{redisengine.ReplyError("@user_script: 219: -OOM command not allowed when used memory > 'maxmemory'."), engine.ErrFull, "maxmemory"},
		{redisengine.ReplyError("ERR Error running script (call to f_9b3f): @user_script:5: @user_script: 5: -NOREPLICAS Not enough good replicas"), engine.ErrUnavailable, "min-replicas-to-write"},
		{redisengine.ReplyError("ERR Error running script (call to f_9b3f): @user_script:5: @user_script: 5: " +
			"The user executing the script can't run this command or subcommand"), nil, "docs/redis.md"},
		// Redis 7.2 and Valkey name the user.
		{redisengine.ReplyError("ERR ACL failure in script: User shop has no permissions to run the 'hset' command"), nil, "docs/redis.md"},
		{redisengine.ReplyError("ERR max number of clients reached"), engine.ErrOverloaded, "maxclients"},
		{redisengine.ReplyError("NOAUTH Authentication required."), nil, "redis://:password@host"},
		{redisengine.ReplyError("WRONGPASS invalid username-password pair"), nil, "%40"},
		{redisengine.ReplyError("NOPERM this user has no permissions"), nil, "docs/redis.md"},
		{redisengine.ReplyError("MOVED 3999 127.0.0.1:6381"), nil, "cluster"},
		{redisengine.ReplyError("ERR something else"), nil, "something else"},
		{&redisengine.NotSentError{Err: errors.New("connection refused")}, engine.ErrUnavailable, "cannot reach"},
		{&redisengine.NotSentError{Err: engine.ErrOverloaded}, engine.ErrOverloaded, "pool"},
		{&redisengine.NotSentError{Err: engine.ErrClosed}, engine.ErrClosed, "Close"},
		{io.EOF, engine.ErrUnknown, "may have taken effect"},
	} {
		t.Run(c.err.Error(), func(t *testing.T) {
			t.Parallel()
			e, r := redisengine.On(broken{c.err}), request(t, ann, "a")
			_, err := e.Acquire(context.Background(), r)
			wantError(t, err, c.want, c.hint)
			_, err = e.Release(context.Background(), r)
			wantError(t, err, c.want, c.hint)
			_, err = e.Abandon(context.Background(), r)
			wantError(t, err, c.want, c.hint)
			wantError(t, e.Renew(context.Background(), []engine.Request{r})[0], c.want, c.hint)
			for _, k := range []engine.Kind{engine.Fair, engine.Read, engine.Write, engine.Permit} {
				r := requestKind(t, k, ann, "a")
				_, err := e.Acquire(context.Background(), r)
				wantError(t, err, c.want, c.hint)
				_, err = e.Release(context.Background(), r)
				wantError(t, err, c.want, c.hint)
			}
			_, err = e.CountDown(context.Background(), requestKind(t, engine.Latch, ann, "a"))
			wantError(t, err, c.want, c.hint)
			_, _, err = e.List(context.Background(), "*", "")
			wantError(t, err, c.want, c.hint)
			_, err = e.Inspect(context.Background(), r.Key)
			wantError(t, err, c.want, c.hint)
			_, err = e.ForceRelease(context.Background(), r.Key)
			wantError(t, err, c.want, c.hint)
			_, err = e.Members(context.Background(), []string{"id"})
			wantError(t, err, c.want, c.hint)
			wantError(t, e.Register(context.Background(), engine.Member{ID: "id"}, time.Minute), c.want, c.hint)
			l, claim := e.Capabilities().Ledger, claim(t, "a")
			_, err = l.Claim(context.Background(), claim)
			wantError(t, err, c.want, c.hint)
			_, err = l.Settle(context.Background(), done(claim, "r"))
			wantError(t, err, c.want, c.hint)
			_, err = l.Settle(context.Background(), abandon(claim))
			wantError(t, err, c.want, c.hint)
			wantError(t, l.Renew(context.Background(), []engine.Claim{claim})[0], c.want, c.hint)
			_, err = l.Lookup(context.Background(), claim.Key)
			wantError(t, err, c.want, c.hint)
			_, _, err = l.List(context.Background(), "*", "")
			wantError(t, err, c.want, c.hint)
			if cause := errors.Unwrap(c.err); cause == nil && !errors.Is(err, c.err) {
				t.Errorf("%v does not match its cause, %v", err, c.err)
			}
		})
	}
}

// Errors of real servers.
func TestErrorsOfRealServers(t *testing.T) {
	t.Parallel()

	t.Run("a full server refuses locks, but renews, releases and abandons those it has", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e := open(t, s)
		a, b, c := request(t, ann, "a"), request(t, ann, "b"), request(t, ann, "c")
		b.Key, c.Key = b.Key+" 2", c.Key+" 3"
		granted(t, e, a)
		granted(t, e, b)
		s.Must("CONFIG", "SET", "maxmemory", "1")
		_, err := e.Acquire(context.Background(), c)
		wantError(t, err, engine.ErrFull, "maxmemory")
		renewed(t, e, a, nil)
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released})
		abandoned(t, e, b, engine.ReleaseResult{Outcome: engine.Released})
		refused(t, e, retry(b), engine.ErrAbandoned)
		_, err = e.Abandon(context.Background(), c)
		wantError(t, err, engine.ErrFull, "maxmemory")
	})

	for _, k := range []engine.Kind{engine.Fair, engine.Read, engine.Write, engine.Permit} {
		t.Run("a full server refuses a "+k.String()+" lock, but renews, releases and abandons those it has", func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			e := open(t, s)
			rs := make([]engine.Request, 5)
			for i := range rs {
				rs[i] = requestKind(t, k, ann, fmt.Sprint(i))
				rs[i].Limit = 2
				if i > 1 { // the first two share a key and an owner
					rs[i].Key += fmt.Sprint(i)
				}
				if i < 4 {
					granted(t, e, rs[i])
				}
			}
			s.Must("CONFIG", "SET", "maxmemory", "1")
			_, err := e.Acquire(context.Background(), rs[4])
			wantError(t, err, engine.ErrFull, "maxmemory")
			if _, err := e.Acquire(context.Background(), queued(requestKind(t, k, bob, "b"), time.Minute)); err == nil {
				t.Error("a full server granted or queued one more request")
			}
			for _, r := range rs[:4] {
				renewed(t, e, lasting(r, time.Minute), nil)
			}
			for _, r := range rs[:3] {
				if p, err := e.Release(context.Background(), r); err != nil || p.Outcome != engine.Released {
					t.Errorf("release: %+v, %v; want %v", p, err, engine.Released)
				}
			}
			abandoned(t, e, rs[3], engine.ReleaseResult{Outcome: engine.Released})
			refused(t, e, retry(rs[3]), engine.ErrAbandoned)
			_, err = e.Abandon(context.Background(), rs[4])
			wantError(t, err, engine.ErrFull, "maxmemory")
		})
	}

	t.Run("a replica is unavailable", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		e := open(t, s)
		s.Must("REPLICAOF", "127.0.0.1", "1")
		_, err := e.Acquire(context.Background(), request(t, ann, "a"))
		if !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("Acquire: err = %v, want %v", err, engine.ErrUnavailable)
		}
	})

	t.Run("a server without its required replicas is unavailable", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t, "--min-replicas-to-write", "1")
		_, err := open(t, s).Acquire(context.Background(), request(t, ann, "a"))
		wantError(t, err, engine.ErrUnavailable, "min-replicas-to-write")
	})

	t.Run("a server that is busy with a script is unavailable", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t, "--lua-time-limit", "50")
		e := open(t, s)
		done := make(chan error)
		go func() {
			_, err := s.Do("EVAL", "while true do end", "0")
			done <- err
		}()
		eventually(t, "the server is busy", func() bool {
			_, err := e.Acquire(context.Background(), request(t, ann, "a"))
			return errors.Is(err, engine.ErrUnavailable) && strings.Contains(err.Error(), "SLOWLOG")
		})
		s.Must("SCRIPT", "KILL")
		<-done
	})

	t.Run("a server that takes no more connections is overloaded", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		s.Subscribe("SUBSCRIBE", "x")
		s.Must("CONFIG", "SET", "maxclients", "1")
		_, err := redisengine.Open(context.Background(), s.URL())
		wantError(t, err, engine.ErrOverloaded, "maxclients")
	})

	t.Run("a user who may not publish keeps the lock, and the error says why", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		s.Must("ACL", "SETUSER", "shop", "on", ">pw", "~*", "+@all", "resetchannels")
		e := openURL(t, "redis://shop:pw@"+s.Addr())
		r := request(t, ann, "a")
		granted(t, e, r)
		_, err := e.Release(context.Background(), r)
		wantError(t, err, nil, "docs/redis.md")
		if s.Must("HGET", r.Key, ann) != "1" {
			t.Error("a refused release changed the lock")
		}
	})

	t.Run("the permissions that the documentation lists are enough", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		s.Must(append([]string{"ACL", "SETUSER", "shop", "on", ">pw"}, permissions(t)...)...)
		e := openURL(t, "redis://shop:pw@"+s.Addr())
		r := fenced(request(t, ann, "a"), 3)
		wake, stop := e.Capabilities().Notifier.Notify(r)
		defer stop()
		awaitWake(t, wake)
		granted(t, e, r)
		granted(t, e, retry(r))
		second := r
		second.Attempt = "b"
		granted(t, e, second)
		busy(t, e, request(t, bob, "b"))
		renewed(t, e, r, nil)
		released(t, e, second, engine.ReleaseResult{Outcome: engine.Released, Count: 1})
		released(t, e, r, engine.ReleaseResult{Outcome: engine.Released, Listeners: 1})
		awaitWake(t, wake)
		abandoned(t, e, r, engine.ReleaseResult{Outcome: engine.AlreadyFree})
	})

	t.Run("the permissions that the documentation lists are enough for records", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		s.Must(append([]string{"ACL", "SETUSER", "shop", "on", ">pw"}, permissions(t)...)...)
		e := openURL(t, "redis://shop:pw@"+s.Addr())
		c := claim(t, "a")
		wake, stop := e.Capabilities().Ledger.Watch(c.Key)
		defer stop()
		awaitWake(t, wake)
		claimed(t, e, c)
		claimed(t, e, c)
		claimRenewed(t, e, c, nil)
		lookedUp(t, e, c.Key, engine.Running)
		settled(t, e, done(c, "r"), engine.Released)
		awaitWake(t, wake)
		c.Attempt, c.Retry = "b", true
		claimRefused(t, e, c, engine.Done)
		settled(t, e, abandon(c), engine.NotYours)
		if records, _, err := e.Capabilities().Ledger.List(context.Background(), "*", ""); err != nil || len(records) != 1 {
			t.Errorf("the list has %+v, %v; want 1 record", records, err)
		}
		if log := s.Must("ACL", "LOG"); strings.Contains(log, "\nlua\n") {
			t.Errorf("the server denied a command of a script: %s", log)
		}
	})

	t.Run("the permissions that the documentation lists are enough for every kind", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		s.Must(append([]string{"ACL", "SETUSER", "shop", "on", ">pw"}, permissions(t)...)...)
		e := openURL(t, "redis://shop:pw@"+s.Addr())
		useEveryOperation(t, e)
		// Optional commands need a permission as well.
		if log := s.Must("ACL", "LOG"); strings.Contains(log, "\nlua\n") {
			t.Errorf("the server denied a command of a script: %s", log)
		}
	})
}

// useEveryOperation uses every operation on every kind of lock.
func useEveryOperation(t *testing.T, e *redisengine.Engine) {
	t.Helper()
	for _, k := range []engine.Kind{engine.Fair, engine.Read, engine.Write, engine.Permit} {
		a, b, c := fenced(requestKind(t, k, ann, "a"), 0), queued(requestKind(t, k, bob, "b"), time.Minute), queued(requestKind(t, k, cat, "c-"+k.String()), time.Minute)
		if k == engine.Read {
			b.Kind, c.Kind = engine.Write, engine.Write
		}
		wake, stop := e.Notify(b)
		defer stop()
		awaitWake(t, wake)
		granted(t, e, a)
		granted(t, e, retry(a))
		busy(t, e, b)
		busy(t, e, c)
		renewed(t, e, a, nil)
		if l := inspected(t, e, a.Key); len(l.Holders) != 1 || len(l.Waiters) != 2 {
			t.Errorf("%s: inspect: %+v, want 1 holder and 2 waiters", k, l)
		}
		if got := listed(t, e, key(t)+"*"); len(got) != 1 {
			t.Errorf("%s: the list has %q, want 1 lock", k, got)
		}
		released(t, e, a, engine.ReleaseResult{Outcome: engine.Released, Listeners: 1})
		awaitWake(t, wake)
		granted(t, e, b)
		forceReleased(t, e, a.Key)
		renewed(t, e, b, engine.ErrRevoked)
		granted(t, e, c)
		abandoned(t, e, c, engine.ReleaseResult{Outcome: engine.Released, Listeners: 1})
	}
	write, read := requestKind(t, engine.Write, ann, "w"), requestKind(t, engine.Read, ann, "r")
	granted(t, e, write)
	granted(t, e, read)
	renewed(t, e, write, nil)
	busy(t, e, requestKind(t, engine.Read, bob, "b"))
	released(t, e, write, engine.ReleaseResult{Outcome: engine.Released, Listeners: 1})
	released(t, e, read, engine.ReleaseResult{Outcome: engine.Released, Listeners: 1})
	latch := requestKind(t, engine.Latch, ann, "a")
	countedDown(t, e, latch, 0)
	wake, stop := e.Watch("id")
	defer stop()
	awaitWake(t, wake)
	if err := e.Register(context.Background(), engine.Member{ID: "id"}, time.Minute); err != nil {
		t.Error(err)
	}
	if m, err := e.Members(context.Background(), []string{"id"}); err != nil || len(m) != 1 {
		t.Errorf("Members = %+v, %v; want 1 client", m, err)
	}
}

// permissions returns the permissions of docs/redis.md, with the key names of these tests.
func permissions(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), "ACL SETUSER interlock on >password\n")
	list, _, found := strings.Cut(after, "```")
	if !found {
		t.Fatal("docs/redis.md has no list of permissions")
	}
	return strings.Fields(strings.ReplaceAll(list, "shop:", "Test"))
}

func TestClose(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	r := request(t, ann, "a")
	wake, stop := e.Capabilities().Notifier.Notify(r)
	awaitWake(t, wake)
	granted(t, e, r)
	for range 2 {
		if err := e.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	_, err := e.Acquire(context.Background(), r)
	wantError(t, err, engine.ErrClosed, "Close")
	_, err = e.Release(context.Background(), r)
	wantError(t, err, engine.ErrClosed, "Close")
	wantError(t, e.Renew(context.Background(), []engine.Request{r})[0], engine.ErrClosed, "Close")
	_, err = e.Capabilities().Ledger.Claim(context.Background(), claim(t, "a"))
	wantError(t, err, engine.ErrClosed, "Close")
	_, err = e.Capabilities().Ledger.Settle(context.Background(), done(claim(t, "a"), "r"))
	wantError(t, err, engine.ErrClosed, "Close")
	_, err = e.Capabilities().Ledger.Lookup(context.Background(), key(t))
	wantError(t, err, engine.ErrClosed, "Close")
	_, _, err = e.Capabilities().Ledger.List(context.Background(), "*", "")
	wantError(t, err, engine.ErrClosed, "Close")
	stop()
	_, stop = e.Capabilities().Notifier.Notify(r)
	stop()
	eventually(t, "the connections are closed", func() bool {
		return !strings.Contains(s.Must("CLIENT", "LIST"), "name=interlock")
	})
	if s.Must("EXISTS", r.Key) != "1" {
		t.Error("Close released a lock")
	}
}

func TestDoneContext(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s)
	ctx, cancel := context.WithDeadline(context.Background(), time.Now())
	defer cancel()
	_, err := e.Acquire(ctx, request(t, ann, "a"))
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, engine.ErrUnknown) {
		t.Errorf("Acquire: err = %v, want DeadlineExceeded and not ErrUnknown", err)
	}
	if s.Must("EXISTS", key(t)) != "0" {
		t.Error("a call with a done context was sent")
	}
}
