package interop

import (
	"cmp"
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

// A lock is a kind and a key, which both languages support.
type lock struct {
	kind string // exclusive, fair, fenced, read, write or multi
	key  string // for multi, several keys with commas
}

// withKind returns the lock with another kind: the other side of a read/write lock.
func (l lock) withKind(kind string) lock { return lock{kind, l.key} }

// An actor acquires locks: a goroutine of a Go client, or a thread of Redisson.
type actor interface {
	lock(l lock) error
	try(l lock, wait time.Duration) (bool, error)
	unlock(l lock) error

	// write appends the actor's letter to a text rounds times, by reading it and writing
	// it back under the lock. It pauses for 1ms between rounds, so that others get the
	// lock.
	write(l lock, text string, rounds int) error
}

// A fixture is a server or a cluster with a client of each language.
type fixture struct {
	t       *testing.T
	servers servers
	server  *redistest.Server  // nil for a cluster
	cluster *redistest.Cluster // nil for a server
	lease   time.Duration
	client  *interlock.Client
	redis   *redissonClient
}

// servers says how clients of both languages reach the servers.
type servers struct {
	url     string
	prefix  string // of all names
	sharded string // shardedSubscriptionMode of Redisson; AUTO if empty
	publish string // the publish mode in Go; auto if empty
}

// urlForGo returns the URL of the servers, with options for locks that Redisson shares.
func (s servers) urlForGo() string {
	return s.url + "?redisson=true&prefix=" + s.prefix + "&publish=" + cmp.Or(s.publish, "auto")
}

// ids numbers threads and keys.
var ids atomic.Int64

// longLease is so long that a Java waiter without a message fails the test. Go waiters ask
// every second, with or without a message.
const longLease = 5 * callTimeout

// newFixture starts a server, and opens a client of each language, both with the same
// renewed lease.
func newFixture(t *testing.T, lease time.Duration) *fixture {
	t.Helper()
	return newPrefixedFixture(t, lease, "")
}

func newPrefixedFixture(t *testing.T, lease time.Duration, prefix string) *fixture {
	t.Helper()
	server := redistest.Start(t)
	f := &fixture{t: t, server: server, servers: servers{url: server.URL(), prefix: prefix}, lease: lease}
	f.openClients()
	return f
}

// openClients opens a client of each language.
func (f *fixture) openClients() {
	f.t.Helper()
	f.client = f.newClient(interlock.Watchdog(f.lease))
	f.redis = openRedisson(f.t, f.servers, f.lease)
}

// home returns the server that has a key.
func (f *fixture) home(key string) *redistest.Server {
	if f.cluster != nil {
		return f.cluster.Home(key)
	}
	return f.server
}

// newClient opens a Go client.
func (f *fixture) newClient(opts ...interlock.Option) *interlock.Client {
	f.t.Helper()
	e, err := redisengine.Open(f.t.Context(), f.servers.urlForGo())
	if err != nil {
		f.t.Fatal(err)
	}
	c := interlock.New(e, opts...)
	f.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		if err := errors.Join(c.Close(ctx), e.Close()); err != nil {
			f.t.Error(err)
		}
	})
	return c
}

func (f *fixture) goActor() actor {
	return &goActor{fixture: f, client: f.client, held: make(map[lock]*interlock.Hold)}
}

func (f *fixture) javaActor() actor {
	return &javaActor{java: f.redis, name: fmt.Sprintf("t%d", ids.Add(1))}
}

// newLock returns a lock with a new key.
func (f *fixture) newLock(kind string) lock {
	key := fmt.Sprintf("%s:%d", kind, ids.Add(1))
	if kind == "multi" {
		key = fmt.Sprintf("%[1]s:a,%[1]s:b,%[1]s:c", key) // in several slots of a cluster
	}
	return lock{kind, key}
}

// keyInRedis returns the key of a lock in Redis, or the first of its keys.
func (f *fixture) keyInRedis(l lock) string {
	first, _, _ := strings.Cut(l.key, ",")
	return f.servers.prefix + first
}

// relatedKey returns a key or channel that belongs to a lock.
func (f *fixture) relatedKey(prefix string, l lock) string {
	return prefix + "{" + f.keyInRedis(l) + "}"
}

// waitForSubscribers waits until a lock has this many subscribers. An earlier release
// would notify no waiter.
func (f *fixture) waitForSubscribers(l lock, subscribers int) {
	f.t.Helper()
	f.until(fmt.Sprintf("%d subscribers for %s", subscribers, l.key), func() bool {
		all, pattern := []*redistest.Server{f.server}, f.relatedKey("*", l)+"*"
		if f.cluster != nil {
			all = f.cluster.Servers // with PUBLISH, the client chooses the server that it subscribes to
		}
		found := 0
		for _, s := range all {
			text := s.Must("PUBSUB", "CHANNELS", pattern) + "\n" + s.Must("PUBSUB", "SHARDCHANNELS", pattern)
			found += len(strings.Fields(text))
		}
		return found >= subscribers
	})
}

// waitForQueue waits until the queue of a fair lock has this many waiters.
func (f *fixture) waitForQueue(l lock, waiters int) {
	f.t.Helper()
	f.until(fmt.Sprintf("%d waiters in the queue of %s", waiters, l.key), func() bool {
		return f.home(f.keyInRedis(l)).Must("LLEN", f.relatedKey("redisson_lock_queue:", l)) == fmt.Sprint(waiters)
	})
}

func (f *fixture) until(what string, done func() bool) {
	f.t.Helper()
	for end := time.Now().Add(callTimeout); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("%s: not within %v", what, callTimeout)
		}
	}
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// wantRefused checks that an actor does not get a lock.
func (f *fixture) wantRefused(a actor, l lock) {
	f.t.Helper()
	if got, err := a.try(l, 0); got || err != nil {
		f.t.Fatalf("%T: try of a held %s lock returned %v, %v; want a refusal", a, l.kind, got, err)
	}
}

// lockInBackground acquires a lock. The channel receives the time of the grant.
func (f *fixture) lockInBackground(a actor, l lock) <-chan time.Time {
	got := make(chan time.Time, 1)
	go func() { // the wait is bounded
		if err := a.lock(l); err != nil {
			f.t.Error(err)
		}
		got <- time.Now()
	}()
	return got
}

// A goActor acquires locks in Go.
type goActor struct {
	fixture *fixture
	client  *interlock.Client
	held    map[lock]*interlock.Hold
}

func (g *goActor) locker(l lock, opts ...interlock.Option) interlock.Locker {
	switch l.kind {
	case "fair":
		return g.client.Mutex(l.key, append(opts, interlock.Fair())...)
	case "fenced":
		return g.client.Mutex(l.key, append(opts, interlock.Fenced())...)
	case "read":
		return g.client.RWMutex(l.key, opts...).Read()
	case "write":
		return g.client.RWMutex(l.key, opts...).Write()
	case "multi":
		return g.client.Multi(strings.Split(l.key, ","), opts...)
	}
	return g.client.Mutex(l.key, opts...)
}

func (g *goActor) lock(l lock) error {
	_, hold, err := g.locker(l, interlock.Wait(callTimeout)).Lock(context.Background())
	g.held[l] = hold
	return err
}

func (g *goActor) try(l lock, wait time.Duration) (bool, error) {
	_, hold, err := g.locker(l, interlock.Wait(wait)).Lock(context.Background())
	if errors.Is(err, interlock.ErrContended) {
		return false, nil
	}
	g.held[l] = hold
	return err == nil, err
}

func (g *goActor) unlock(l lock) error { return g.held[l].Unlock() }

func (g *goActor) write(l lock, text string, rounds int) error {
	server := g.fixture.home(g.fixture.servers.prefix + text)
	text = g.fixture.servers.prefix + text
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

// A javaActor acquires locks in a Java thread.
type javaActor struct {
	java *redissonClient
	name string
}

func (j *javaActor) do(verb string, l lock, args ...string) (string, error) {
	return j.java.ask(j.name, append([]string{verb, l.kind, l.key}, args...)...)
}

func (j *javaActor) lock(l lock) error {
	_, err := j.do("lock", l)
	return err
}

func (j *javaActor) try(l lock, wait time.Duration) (bool, error) {
	text, err := j.do("try", l, fmt.Sprint(wait.Milliseconds()), "-1")
	return text == "true", err
}

func (j *javaActor) unlock(l lock) error {
	_, err := j.do("unlock", l)
	return err
}

func (j *javaActor) write(l lock, text string, rounds int) error {
	_, err := j.do("write", l, text, fmt.Sprint(rounds))
	return err
}

// A direction says which language holds a lock and which one waits for it.
type direction struct {
	name   string // a column of the table
	holder func() actor
	waiter func() actor
}

const (
	goToJava = "Go → Java"
	javaToGo = "Java → Go"
)

// bothDirections runs a test in both directions.
func (f *fixture) bothDirections(test func(f *fixture, d direction)) {
	for _, name := range []string{goToJava, javaToGo} {
		f.t.Run(name, func(t *testing.T) {
			f := f.withT(t)
			d := direction{name, f.goActor, f.javaActor}
			if name == javaToGo {
				d = direction{name, f.javaActor, f.goActor}
			}
			test(f, d)
		})
	}
}

// withT returns the fixture for a subtest.
func (f *fixture) withT(t *testing.T) *fixture {
	c := *f
	c.t = t
	return &c
}
