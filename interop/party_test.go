package interop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// A lock is what both languages have a name for.
type lock struct {
	kind string // exclusive, fair, fenced, read or write
	key  string
}

// as is the other side of a read/write lock.
func (l lock) as(kind string) lock { return lock{kind, l.key} }

// A party acquires locks: a goroutine of a Go client, or a thread of Redisson.
type party interface {
	lock(l lock) error
	try(l lock, wait time.Duration) (bool, error)
	unlock(l lock) error

	// write adds the party's letter to a text so many times, by reading it and
	// writing it back under the lock. In between it does something else for a
	// millisecond, so that others have their turns.
	write(l lock, text string, rounds int) error
}

// A scene is a server with a party of each language.
type scene struct {
	t      *testing.T
	server *redistest.Server
	lease  time.Duration
	client *interlock.Client
	redis  *java
}

// parts numbers what must be told apart: threads and keys.
var parts atomic.Int64

// newScene opens both sides, with the same lease where it is renewed.
func newScene(t *testing.T, lease time.Duration) *scene {
	t.Helper()
	s := &scene{t: t, server: redistest.Start(t), lease: lease}
	s.client = s.open(interlock.Watchdog(lease))
	s.redis = openJava(t, s.server.URL(), lease)
	return s
}

// redisson is what an address ends with, to say that locks are shared.
const redisson = "?redisson=true"

// open opens a client of ours.
func (s *scene) open(opts ...interlock.Option) *interlock.Client {
	s.t.Helper()
	e, err := redisengine.Open(s.t.Context(), s.server.URL()+redisson)
	if err != nil {
		s.t.Fatal(err)
	}
	c := interlock.New(e, opts...)
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := errors.Join(c.Close(ctx), e.Close()); err != nil {
			s.t.Error(err)
		}
	})
	return c
}

func (s *scene) golang() party {
	return &gopher{scene: s, client: s.client, held: make(map[lock]*interlock.Hold)}
}

func (s *scene) java() party {
	return &thread{java: s.redis, name: fmt.Sprintf("t%d", parts.Add(1))}
}

// fresh returns a lock of which nothing has been known so far.
func (s *scene) fresh(kind string) lock {
	return lock{kind, fmt.Sprintf("%s:%d", kind, parts.Add(1))}
}

// asked waits until as many listen for a lock: until then a release might come
// before them and wake no waiter.
func (s *scene) asked(l lock, listeners int) {
	s.t.Helper()
	s.until(fmt.Sprintf("%d listen for %s", listeners, l.key), func() bool {
		text := s.server.Must("PUBSUB", "CHANNELS", "*{"+l.key+"}*")
		return len(strings.Fields(text)) >= listeners
	})
}

// inQueue waits until as many stand in the line of a fair lock.
func (s *scene) inLine(l lock, waiters int) {
	s.t.Helper()
	s.until(fmt.Sprintf("%d stand in line for %s", waiters, l.key), func() bool {
		return s.server.Must("LLEN", "redisson_lock_queue:{"+l.key+"}") == fmt.Sprint(waiters)
	})
}

func (s *scene) until(what string, done func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("not in %v: %s", patience, what)
		}
	}
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// refused requires that a party does not get a lock.
func (s *scene) refused(p party, l lock) {
	s.t.Helper()
	if got, err := p.try(l, 0); got || err != nil {
		s.t.Fatalf("%T got the %s lock although it is held: %v %v", p, l.kind, got, err)
	}
}

// later begins to ask for a lock, and tells when it is there.
func (s *scene) later(p party, l lock) <-chan time.Time {
	got := make(chan time.Time, 1)
	go func() { // ends with the wait, which is bounded
		if err := p.lock(l); err != nil {
			s.t.Error(err)
		}
		got <- time.Now()
	}()
	return got
}

// A gopher takes locks in Go.
type gopher struct {
	scene  *scene
	client *interlock.Client
	held   map[lock]*interlock.Hold
}

func (g *gopher) locker(l lock, opts ...interlock.Option) interlock.Locker {
	switch l.kind {
	case "fair":
		return g.client.Mutex(l.key, append(opts, interlock.Fair())...)
	case "fenced":
		return g.client.Mutex(l.key, append(opts, interlock.Fenced())...)
	case "read":
		return g.client.RWMutex(l.key, opts...).Read()
	case "write":
		return g.client.RWMutex(l.key, opts...).Write()
	}
	return g.client.Mutex(l.key, opts...)
}

func (g *gopher) lock(l lock) error {
	_, hold, err := g.locker(l, interlock.Wait(patience)).Lock(context.Background())
	g.held[l] = hold
	return err
}

func (g *gopher) try(l lock, wait time.Duration) (bool, error) {
	_, hold, err := g.locker(l, interlock.Wait(wait)).Lock(context.Background())
	if errors.Is(err, interlock.ErrContended) {
		return false, nil
	}
	g.held[l] = hold
	return err == nil, err
}

func (g *gopher) unlock(l lock) error { return g.held[l].Unlock() }

func (g *gopher) write(l lock, text string, rounds int) error {
	server := g.scene.server
	for range rounds {
		err := g.locker(l).Do(context.Background(), func(context.Context) error {
			before, err := server.Do("GET", text)
			if err != nil {
				return err
			}
			_, err = server.Do("SET", text, strings.TrimPrefix(before, "(nil)")+"G")
			return err
		})
		if err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// A thread takes locks in Java.
type thread struct {
	java *java
	name string
}

func (p *thread) do(verb string, l lock, args ...string) (string, error) {
	return p.java.ask(p.name, append([]string{verb, l.kind, l.key}, args...)...)
}

func (p *thread) lock(l lock) error {
	_, err := p.do("lock", l)
	return err
}

func (p *thread) try(l lock, wait time.Duration) (bool, error) {
	text, err := p.do("try", l, fmt.Sprint(wait.Milliseconds()), "-1")
	return text == "true", err
}

func (p *thread) unlock(l lock) error {
	_, err := p.do("unlock", l)
	return err
}

func (p *thread) write(l lock, text string, rounds int) error {
	_, err := p.do("write", l, text, fmt.Sprint(rounds))
	return err
}

// A way is who holds a lock, and who of the other language waits for it.
type way struct {
	name   string // a column of the table
	holder func() party
	waiter func() party
}

const (
	goToJava = "Go → Java"
	javaToGo = "Java → Go"
)

// bothWays runs a test both ways.
func (s *scene) bothWays(test func(s *scene, w way)) {
	for _, name := range []string{goToJava, javaToGo} {
		s.t.Run(name, func(t *testing.T) {
			s := s.in(t)
			w := way{name, s.golang, s.java}
			if name == javaToGo {
				w = way{name, s.java, s.golang}
			}
			test(s, w)
		})
	}
}

// in is the same scene for a part of its test.
func (s *scene) in(t *testing.T) *scene {
	c := *s
	c.t = t
	return &c
}
