package zookeeper_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/zookeeper"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
	"github.com/interlock-go/interlock/internal/testing/zookeepertest"
)

func TestURLs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		url   string
		hosts []string
		root  string
		user  string
	}{
		{"zk://localhost", []string{"localhost:2181"}, "/interlock", ""},
		{"zk://a,b:2182,[::1]:2183/shop/locks", []string{"a:2181", "b:2182", "[::1]:2183"}, "/shop/locks", ""},
		{"zk://me:p%40ss@a,b/", []string{"a:2181", "b:2181"}, "/interlock", "me"},
		{"zks://a?tls_name=b&timeout=1s&session=5s&lazy=true", []string{"a:2281"}, "/interlock", ""},
	} {
		hosts, root, user, err := zookeeper.Parse(c.url)
		if err != nil || !slices.Equal(hosts, c.hosts) || root != c.root || user != c.user {
			t.Errorf("%s: %q, %q, %q, %v; want %q, %q and %q", c.url, hosts, root, user, err, c.hosts, c.root, c.user)
		}
	}
}

func TestBadURLs(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"":                            "begin it with zk://",
		"redis://localhost":           "begin it with zk://",
		"zk://":                       "names no server",
		"zk://a,,b":                   "invalid host",
		"zk://a,b@c/x":                "invalid host",
		"zk://a/zookeeper/x":          "invalid root",
		"zk://a//x":                   "invalid root",
		"zk://a/x%20y":                "invalid root",
		"zk://a?timeot=2s":            `unknown parameter "timeot"`,
		"zk://a?timeout=2":            "not a duration",
		"zk://a?lazy=maybe":           "neither true nor false",
		"zk://a?tls_name=b":           "needs zks://",
		"zks://a?tls_ca=/nonexistent": "no such file",
	} {
		if url == "zk://a,b@c/x" {
			continue // the user is "a,b"
		}
		_, err := zookeeper.Open(t.Context(), url)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error that says %q", url, err, want)
		}
	}
	for _, url := range []string{"zk://me:secret@a\x00", "zk://me:?secret@a", "zk://me:1/secret@a/x y"} {
		_, err := zookeeper.Open(t.Context(), url)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got the error %v, want one that does not contain the password", url, err)
		}
	}
}

func TestOpenWithoutServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // accepts connections, and does not answer
	url := "zk://" + l.Addr().String() + "?session=500ms&timeout=500ms"
	start := time.Now()
	if _, err := zookeeper.Open(t.Context(), url); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("open: %v, want %v", err, engine.ErrUnavailable)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("Open took %v, and the session's timeout is 500ms", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := zookeeper.Open(ctx, url); !errors.Is(err, context.Canceled) {
		t.Errorf("open with a cancelled context: %v, want %v", err, context.Canceled)
	}
	e, err := zookeeper.Open(t.Context(), url, zookeeper.Lazy())
	if err != nil {
		t.Fatalf("lazy: %v", err)
	}
	defer e.Close()
	refused(t, e, request(t, ann, "a"), engine.ErrUnavailable)
}

// A server that accepts connections and does not answer must not keep the client from
// the others.
func TestAServerThatDoesNotAnswerIsGivenUp(t *testing.T) {
	t.Parallel()
	p := faultnet.New(t, server(t).Addr())
	p.BlackHole(faultnet.Replies, true)
	for range 4 { // the order of the servers is random
		e, err := zookeeper.Open(t.Context(), "zk://"+p.Addr()+","+server(t).Addr()+"?session=1s&timeout=20s")
		if err != nil {
			t.Fatal(err)
		}
		r := request(t, ann, "a")
		granted(t, e, r)
		released(t, e, r, engine.Released)
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAnEngineConnectsWhenTheServerComesBack(t *testing.T) {
	t.Parallel()
	p := faultnet.New(t, server(t).Addr())
	p.Refuse(true)
	e := open(t, "zk://"+p.Addr(), zookeeper.Lazy(), zookeeper.Root("/lazy"), zookeeper.Timeout(300*time.Millisecond))
	refused(t, e, request(t, ann, "a"), engine.ErrUnavailable)
	p.Refuse(false)
	eventually(t, "the lock is granted", func() bool {
		_, err := e.Acquire(context.Background(), request(t, ann, "a"))
		return err == nil
	})
}

func TestRootsSeparateLocks(t *testing.T) {
	t.Parallel()
	one, two := open(t, server(t).URL(), zookeeper.Root("/one.shop")), open(t, server(t).URL()+"/two/shop")
	granted(t, one, request(t, ann, "a"))
	granted(t, two, request(t, bob, "b"))
	if a, b := incarnation(t, one), incarnation(t, two); a == b {
		t.Errorf("both roots have the incarnation %q", a)
	}
}

func incarnation(t testing.TB, e *zookeeper.Engine) string {
	t.Helper()
	i, err := e.Incarnation(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return i.ID
}

func TestUsers(t *testing.T) {
	t.Parallel()
	addr := server(t).Addr()
	owner := open(t, "zk://shop:secret@"+addr+"/owned?session=2s")
	r := request(t, ann, "a")
	granted(t, owner, r)
	for _, user := range []string{"", "shop:wrong@", "other:secret@"} {
		e, err := zookeeper.Open(t.Context(), "zk://"+user+addr+"/owned")
		if err == nil {
			_, err = e.Acquire(t.Context(), request(t, bob, "b"))
			_ = e.Close()
		}
		if err == nil || engine.Temporary(err) || !strings.Contains(err.Error(), "lacks a permission") {
			t.Errorf("as %q: %v, want an error about permissions", user, err)
		}
	}
	again := open(t, "zk://shop:secret@"+addr+"/owned")
	busy(t, again, request(t, bob, "b"))
	released(t, again, r, engine.Released)
}

// A user is sent again with every new connection.
func TestAUserKeepsItsPermissionsAfterAReconnect(t *testing.T) {
	t.Parallel()
	p := faultnet.New(t, server(t).Addr())
	e := open(t, "zk://shop:secret@"+p.Addr()+"/reconnected?session=2s")
	r := request(t, ann, "a")
	granted(t, e, r)
	for range 3 {
		p.Reset()
		eventually(t, "the holder renews", func() bool {
			err := e.Renew(context.Background(), []engine.Request{r})[0]
			if err != nil && !engine.Temporary(err) {
				t.Fatal(err)
			}
			return err == nil
		})
	}
}

func TestObservedCalls(t *testing.T) {
	t.Parallel()
	e := open(t, server(t).URL())
	r := request(t, ann, "a")
	granted(t, e, r) // creates the bucket
	released(t, e, r, engine.Released)
	var calls []engine.ServerCall
	stop := e.Capabilities().Observe(func(c engine.ServerCall) { calls = append(calls, c) })
	granted(t, e, r)
	released(t, e, r, engine.Released)
	stop()
	granted(t, e, r)
	if len(calls) != 2 || calls[0].Operation != "acquire" || calls[1].Operation != "release" {
		t.Fatalf("observed %+v, want one request for each call", calls)
	}
	for _, c := range calls {
		if c.Node != server(t).Addr() || c.Took <= 0 || c.Problem() != "" {
			t.Errorf("observed %+v, want a request to %s", c, server(t).Addr())
		}
	}
}

// A server accepts as many connections from one machine as maxClientCnxns says.
func TestAServerWithoutFreeConnectionsIsUnavailable(t *testing.T) {
	t.Parallel()
	s := zookeepertest.Start(t, "maxClientCnxns=1")
	eventually(t, "the connections of the test's start are gone", func() bool { return s.Mode() == "standalone" })
	var first *zookeeper.Engine
	eventually(t, "the first engine has the connection", func() (ok bool) {
		var err error
		first, err = zookeeper.Open(t.Context(), s.URL(), zookeeper.Timeout(testTimeout), zookeeper.Session(time.Second))
		return err == nil
	})
	granted(t, first, request(t, ann, "a"))
	if _, err := zookeeper.Open(t.Context(), s.URL()+"?session=500ms&timeout=1s"); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("a second connection: %v, want %v", err, engine.ErrUnavailable)
	}
	second := open(t, s.URL(), zookeeper.Lazy(), zookeeper.Session(time.Second))
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	busy(t, second, request(t, bob, "b"))
}

// By default a server answers srvr, and no other command.
func TestProbeOfAServerWithItsDefaults(t *testing.T) {
	t.Parallel()
	s := zookeepertest.Start(t, "4lw.commands.whitelist=srvr")
	h, err := zookeeper.Probe(t.Context(), s.URL())
	if err != nil || len(h.Nodes) != 1 {
		t.Fatalf("got %+v, %v; want one node", h, err)
	}
	n := h.Nodes[0]
	if n.Err != nil || n.Role != engine.Primary || n.ID == "" || n.Version == "" || !slices.Equal(n.Denied, []string{"mntr"}) {
		t.Errorf("the server is reported as %+v, want a primary that denies mntr", n)
	}
}

func TestAProbeMeasuresTheClock(t *testing.T) {
	t.Parallel()
	s := zookeepertest.StartClocked(t)
	s.Step(t, -time.Hour)
	measured := func(when string) {
		t.Helper()
		var off time.Duration
		eventually(t, when+" a probe is answered in time", func() bool { // its timeout is short
			h, err := zookeeper.Probe(t.Context(), s.URL())
			if err != nil || len(h.Nodes) != 1 {
				t.Fatalf("%s: %+v, %v; want one node", when, h, err)
			}
			off = h.Nodes[0].Offset
			return off != 0
		})
		if (off + time.Hour).Abs() > 10*time.Minute {
			t.Errorf("%s: the clock is ahead by %v, want about -1h", when, off)
		}
	}
	measured("on a new server")
	nodes, _, err := connect(t, s.Addr()).Children("/")
	if err != nil || !slices.Equal(nodes, []string{"zookeeper"}) {
		t.Errorf("after the probe the server has the nodes %q, %v; want none besides its own", nodes, err)
	}
	granted(t, open(t, s.URL()), request(t, ann, "a"))
	measured("with a lock")
}

// The leader reads its clock before it syncs a write to disk, so a slow write must not look
// like a clock that is behind.
func TestASlowWriteIsNoClockOffset(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	start := time.UnixMilli(1_000_000)
	for _, c := range []struct{ shown, took, want time.Duration }{ // shown is the clock minus start
		{0, 260 * ms, 0},
		{260 * ms, 260 * ms, 0},
		{-ms, 260 * ms, 0}, // the clock may show the last whole millisecond
		{-90 * ms, 260 * ms, -89 * ms},
		{350 * ms, 260 * ms, 90 * ms},
	} {
		if got := zookeeper.LeastOffset(start.Add(c.shown), start, start.Add(c.took)); got != c.want {
			t.Errorf("a clock that showed %v in a write of %v has the offset %v, want %v", c.shown, c.took, got, c.want)
		}
	}
	e, p := proxied(t, server(t), zookeeper.Session(longSession))
	p.Delay(faultnet.Replies, 500*ms)
	h, err := e.Probe(t.Context())
	if err != nil || len(h.Nodes) != 1 || h.Nodes[0].Offset != 0 {
		t.Errorf("the probe reports %+v, %v; want one node with the offset 0, because the server has our clock", h.Nodes, err)
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	down := l.Addr().String()
	l.Close()
	h, err := zookeeper.Probe(t.Context(), "zk://"+server(t).Addr()+","+down)
	if err != nil || len(h.Nodes) != 2 || h.Timeout != 2*time.Second {
		t.Fatalf("got %+v, %v; want two nodes", h, err)
	}
	for _, n := range h.Nodes {
		if n.Addr == down {
			if !errors.Is(n.Err, engine.ErrUnavailable) {
				t.Errorf("the node without a server has the error %v, want %v", n.Err, engine.ErrUnavailable)
			}
		} else if n.Err != nil || n.Role != engine.Primary || !strings.HasPrefix(n.Version, "3.") || n.Uptime <= 0 || n.Latency <= 0 || len(n.Denied) > 0 {
			t.Errorf("the server is reported as %+v", n)
		}
	}
	if _, err := zookeeper.Probe(t.Context(), "zk://"); err == nil {
		t.Error("a probe of a bad URL succeeded")
	}
}
