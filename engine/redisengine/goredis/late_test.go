package goredis_test

import (
	"context"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

const bob = "b0b00000-0000-4000-8000-00000000000b:1"

// A turnstile delays the commands of a client. Each is sent when the test calls arrive, even
// if its caller has given up.
type turnstile struct {
	on   atomic.Bool
	held chan *delayed
}

// A delayed is a command that waits to be sent.
type delayed struct{ pass, done chan struct{} }

// arrive sends the command, and waits for its answer.
func (d *delayed) arrive() {
	close(d.pass)
	<-d.done
}

func (*turnstile) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (*turnstile) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *turnstile) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !h.on.Load() {
			return next(ctx, cmd)
		}
		d := &delayed{make(chan struct{}), make(chan struct{})}
		h.held <- d
		<-d.pass
		defer close(d.done)
		return next(context.WithoutCancel(ctx), cmd)
	}
}

// openTurnstile returns an engine that knows the server's clock, on a server that knows
// the scripts of a kind.
func openTurnstile(t *testing.T, kind engine.Kind) (*redistest.Server, *redisengine.Engine, *turnstile) {
	t.Helper()
	s, h := redistest.Start(t), &turnstile{held: make(chan *delayed, 10)}
	e, client := open(t, &redis.Options{Addr: s.Addr()})
	client.AddHook(h)
	r := request(t, "first")
	r.Kind, r.Limit = kind, 1
	granted(t, e, r)
	released(t, e, r)
	return s, e, h
}

// giveUp makes a call that is delayed, ends its context, and returns the call.
func (h *turnstile) giveUp(t *testing.T, patience time.Duration, call func(context.Context) error) *delayed {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	if patience > 0 {
		ctx, cancel = context.WithTimeout(context.Background(), patience)
	}
	defer cancel()
	h.on.Store(true)
	ended := make(chan error, 1)
	go func() { ended <- call(ctx) }()
	d := <-h.held
	if patience == 0 {
		cancel()
	}
	if err := <-ended; !errors.Is(err, engine.ErrUnknown) {
		t.Errorf("the delayed call: %v, want %v", err, engine.ErrUnknown)
	}
	h.on.Store(false)
	return d
}

// scriptText returns a script of the engine.
func scriptText(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("../lua/" + name + ".lua")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func acquire(e engine.Engine, r engine.Request) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := e.Acquire(ctx, r)
		return err
	}
}

func abandoned(t *testing.T, e engine.Engine, r engine.Request) {
	t.Helper()
	if _, err := e.Abandon(context.Background(), r); err != nil {
		t.Errorf("abandon: %v", err)
	}
}

func eventually(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !happened(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 30s: %s", what)
		}
	}
}

// TestOvertakenAcquires checks attempts whose Abandon overtakes their Acquire on another
// connection.
func TestOvertakenAcquires(t *testing.T) {
	t.Parallel()
	kinds := map[engine.Kind]string{
		engine.Exclusive: "redisson_lock_queue:",
		engine.Fair:      "redisson_lock_queue:",
		engine.Read:      "interlock_readers:",
		engine.Write:     "interlock_writers:",
		engine.Permit:    "interlock_permit_queue:",
	}
	for kind, queue := range kinds {
		requestBy := func(t *testing.T, holder string) engine.Request {
			r := request(t, "a")
			r.Kind, r.Holder, r.Lease, r.Limit = kind, holder, 10*time.Minute, 1
			if kind != engine.Exclusive {
				r.QueueLease = 10 * time.Minute
			}
			return r
		}
		for name, patience := range map[string]time.Duration{"canceled": 0, "impatient": 100 * time.Millisecond} {
			t.Run("a "+name+" caller does not leave a held "+kind.String()+" lock", func(t *testing.T) {
				t.Parallel()
				s, e, h := openTurnstile(t, kind)
				r := requestBy(t, ann)
				d := h.giveUp(t, patience, acquire(e, r))
				abandoned(t, e, r)
				d.arrive()
				eventually(t, "the lock is free", func() bool { return s.Must("EXISTS", r.Key) == "0" })
			})
			t.Run("a "+name+" caller's late acquire does not enter the queue of a "+kind.String()+" lock", func(t *testing.T) {
				t.Parallel()
				s, e, h := openTurnstile(t, kind)
				holder := requestBy(t, bob)
				if kind == engine.Read {
					holder.Kind = engine.Write
				}
				granted(t, e, holder)
				r := requestBy(t, ann)
				d := h.giveUp(t, patience, acquire(e, r))
				abandoned(t, e, r)
				d.arrive()
				if s.Must("EXISTS", queue+"{"+r.Key+"}") != "0" {
					t.Error("the abandoned attempt has a queue position")
				}
			})
		}
	}

	t.Run("a late grant of a batch is undone", func(t *testing.T) {
		t.Parallel()
		s, e, h := openTurnstile(t, engine.Exclusive)
		s.Must("SCRIPT", "LOAD", scriptText(t, "acquire_many"))
		h.on.Store(true)
		direct := make(chan error, 2)
		for _, other := range []string{"x", "y"} {
			r := request(t, "a")
			r.Key += other
			go func() { direct <- acquire(e, r)(context.Background()) }()
		}
		first, second := <-h.held, <-h.held
		r := request(t, "a")
		r.Lease = 10 * time.Minute
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- acquire(e, r)(ctx) }()
		// Now the call waits for a batch. If the sleep is too short, the test passes
		// without testing a batch.
		time.Sleep(50 * time.Millisecond)
		first.arrive()
		batch := <-h.held
		cancel()
		if err := <-ended; !errors.Is(err, engine.ErrUnknown) {
			t.Errorf("the delayed call: %v, want %v", err, engine.ErrUnknown)
		}
		h.on.Store(false)
		second.arrive()
		abandoned(t, e, r)
		batch.arrive()
		eventually(t, "the lock is free", func() bool { return s.Must("EXISTS", r.Key) == "0" })
		for range 2 {
			if err := <-direct; err != nil {
				t.Errorf("acquire: %v", err)
			}
		}
	})

	t.Run("a canceled claim does not leave a running record", func(t *testing.T) {
		t.Parallel()
		s, e, h := openTurnstile(t, engine.Exclusive)
		l := e.Capabilities().Ledger
		c := engine.Claim{Key: t.Name() + " before", Attempt: "a", Lease: 10 * time.Minute, Retain: 10 * time.Minute}
		if _, err := l.Claim(context.Background(), c); err != nil { // now the server knows the script
			t.Fatal(err)
		}
		c.Key = t.Name()
		d := h.giveUp(t, 0, func(ctx context.Context) error {
			_, err := l.Claim(ctx, c)
			return err
		})
		if _, err := l.Settle(context.Background(), engine.Settlement{Key: c.Key, Attempt: c.Attempt, Lease: c.Lease, Abandon: true}); err != nil {
			t.Errorf("abandon: %v", err)
		}
		d.arrive()
		eventually(t, "the key is free", func() bool { return s.Must("EXISTS", "interlock:guard:lock:{"+c.Key+"}") == "0" })
	})

	t.Run("a late grant stays if its attempt was not abandoned", func(t *testing.T) {
		t.Parallel()
		s, e, h := openTurnstile(t, engine.Exclusive)
		r := request(t, "a")
		d := h.giveUp(t, 0, acquire(e, r))
		d.arrive()
		r.Retry = true
		granted(t, e, r)
		time.Sleep(100 * time.Millisecond) // a wrong release would happen meanwhile
		if s.Must("EXISTS", r.Key) != "1" {
			t.Error("the lock was released")
		}
	})
}
