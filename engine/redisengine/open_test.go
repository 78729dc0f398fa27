package redisengine_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

func TestBadURLs(t *testing.T) {
	t.Parallel()
	for url, hint := range map[string]string{
		"":                            "is empty: write it like redis://",
		"localhost:6379":              "redis://",
		"http://localhost":            `"http:"`,
		"redis://":                    "names no server",
		"redis:///0":                  "names no server",
		"redis://:6379":               "names no server",
		"redis://u:s3cret@host:port":  "%40",
		"redis://u:s3cret#x@host":     "%40",
		"redis://u:s3%zzcret@host":    "%40",
		"redis://u:/s3cret@host":      "%40",
		"redis://u:1?s3cret@host":     "%40",
		"redis://h/zero":              `"zero"`,
		"redis://h/-1":                `"-1"`,
		"redis://h/0/1":               `"0/1"`,
		"redis://h?timeout=2":         "2s or 500ms",
		"redis://h?timeout=-1s":       "2s or 500ms",
		"redis://h?dial_timeout=soon": "2s or 500ms",
		"redis://h?publish=loudly":    "not one of auto, publish and spublish",
		"redis://h?redisson=maybe":    "true nor false",
		"redis://h?pool=20": "ack_timeout, acks, client_name, dial_timeout, lazy, prefix, publish, records, redirects, redisson, refresh, " +
			"sentinel_password, sentinel_user, timeout, tls_ca, tls_name",
		"redis://h?a=%zz":                   "?timeout=2s",
		"redis://h?tls_ca=/x":               "rediss://",
		"redis://h?tls_name=x":              "rediss://",
		"rediss://h?tls_ca=/does/not/exist": "no such file",
		"redis+sentinel://h:26379":          "name the primary of the sentinels",
		"redis+sentinel://a,b,c/main/one":   `"one"`,
		"redis+sentinel://a,,c/main":        `""`,
		"redis+sentinel://a,b:x/main":       `"b:x"`,
		"redis+sentinel://a/m?redirects=4":  "redis+cluster://",
		"redis+cluster://":                  "names no server",
		"redis+cluster://a,b/3":             "a cluster has only one",
		"redis+cluster://a?redirects=0":     "above zero",
		"redis+cluster://a?refresh=often":   "2s or 500ms",
		"redis+cluster://a?sentinel_user=x": "redis+sentinel://",
		"redis+ring://a,b":                  "redis+cluster://",
		"redis://a:1,b:2":                   "package quorum",
		"redis://h?refresh=2s":              "redis+cluster://",
		"redis://h?acks=some":               "off, any, quorum and all",
		"redis://h?ack_timeout=1":           "2s or 500ms",
	} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			_, err := redisengine.Open(context.Background(), url)
			wantError(t, err, nil, hint)
			if strings.Contains(err.Error(), "s3") {
				t.Errorf("%q leaks the password", err)
			}
		})
	}
}

// TestOpen proves S8: the URL sets the options of a Redis client, or docs/redis.md names
// the replacement.
func TestOpen(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	s.Must("ACL", "SETUSER", "shop", "on", ">p@ss/w?rd", "~*", "&*", "+@all")

	t.Run("the URL sets user, password, database and client name", func(t *testing.T) {
		t.Parallel()
		u := url.URL{Scheme: "redis", User: url.UserPassword("shop", "p@ss/w?rd"), Host: s.Addr(), Path: "/3",
			RawQuery: "client_name=till-7&timeout=1s&dial_timeout=1s"}
		e := openURL(t, u.String())
		r := request(t, ann, "a")
		granted(t, e, r)
		list := s.Must("CLIENT", "LIST")
		if !strings.Contains(list, "name=till-7") || !strings.Contains(list, "user=shop") {
			t.Errorf("the connections are %s, want client till-7 of user shop", list)
		}
		if got := s.Must("EVAL", "redis.call('SELECT', 3) return redis.call('EXISTS', KEYS[1])", "1", r.Key); got != "1" {
			t.Error("the lock is not in database 3")
		}
		if p := e.Capabilities().LateGrant; p != time.Second {
			t.Errorf("LateGrant = %v, want the timeout of 1s", p)
		}
	})

	t.Run("all calls share one connection, and messages have another", func(t *testing.T) {
		t.Parallel()
		e := openURL(t, s.URL()+"?client_name=counted")
		count := func() int { return strings.Count(s.Must("CLIENT", "LIST"), "name=counted") }
		done := make(chan bool)
		for i := range 20 {
			go func() {
				for range 20 {
					_, _ = e.Acquire(context.Background(), request(t, ann, string(rune('a'+i))))
				}
				done <- true
			}()
		}
		for range 20 {
			<-done
		}
		if n := count(); n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
		for _, k := range []string{"x", "y", "z"} {
			wake, stop := e.Capabilities().Notifier.Notify(engine.Request{Key: k})
			defer stop()
			awaitWake(t, wake)
		}
		if n := count(); n != 2 {
			t.Errorf("%d connections, want 2", n)
		}
	})

	t.Run("a wrong password is reported with advice", func(t *testing.T) {
		t.Parallel()
		_, err := redisengine.Open(context.Background(), "redis://shop:s3cret@"+s.Addr())
		wantError(t, err, nil, "%40")
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q leaks the password", err)
		}
	})

	t.Run("a missing password is reported with advice", func(t *testing.T) {
		t.Parallel()
		locked := redistest.Start(t)
		locked.Must("CONFIG", "SET", "requirepass", "pw")
		_, err := redisengine.Open(context.Background(), locked.URL())
		wantError(t, err, nil, "redis://:password@host")
	})

	t.Run("an address without a server is unavailable", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		_, err = redisengine.Open(context.Background(), "redis://"+l.Addr().String())
		wantError(t, err, engine.ErrUnavailable, "cannot reach")
	})

	t.Run("a server that sends nothing is unavailable after the timeout", func(t *testing.T) {
		t.Parallel()
		p := faultnet.New(t, s.Addr())
		p.BlackHole(faultnet.Replies, true)
		began := time.Now()
		_, err := redisengine.Open(context.Background(), "redis://"+p.Addr()+"?timeout=300ms&dial_timeout=300ms")
		wantError(t, err, engine.ErrUnavailable, "cannot reach")
		if d := time.Since(began); d > 15*time.Second {
			t.Errorf("Open took %v, want at most 15s", d)
		}
	})

	t.Run("a canceled context fails Open with context.Canceled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := redisengine.Open(ctx, s.URL()); !errors.Is(err, context.Canceled) {
			t.Errorf("Open: err = %v, want %v", err, context.Canceled)
		}
	})

	t.Run("the engine outlives the context it was opened with", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(context.Background())
		e, err := redisengine.Open(ctx, s.URL())
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		cancel()
		granted(t, e, request(t, ann, "a"))
		wake, stop := e.Capabilities().Notifier.Notify(engine.Request{Key: key(t)})
		defer stop()
		awaitWake(t, wake)
	})

	t.Run("a node of a cluster is refused", func(t *testing.T) {
		t.Parallel()
		node := redistest.Start(t, "--cluster-enabled", "yes")
		_, err := redisengine.Open(context.Background(), node.URL())
		wantError(t, err, nil, "cluster")
	})

	t.Run("a node of a Valkey cluster is refused", func(t *testing.T) {
		t.Parallel()
		_, err := redisengine.Open(context.Background(), "redis://"+fakeServer(t, "7.2.4", "server_mode:cluster"))
		wantError(t, err, nil, "cluster")
	})
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	s := redistest.Start(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	s.Must("CONFIG", "SET", "tls-cert-file", cert, "tls-key-file", key, "tls-ca-cert-file", cert,
		"tls-auth-clients", "no", "tls-port", port)

	e := openURL(t, "rediss://127.0.0.1:"+port+"?tls_ca="+cert+"&tls_name=redis.test&dial_timeout=30s")
	granted(t, e, request(t, ann, "a"))
	wake, stop := e.Capabilities().Notifier.Notify(engine.Request{Key: "x"})
	defer stop()
	awaitWake(t, wake)

	_, err = redisengine.Open(context.Background(), "rediss://127.0.0.1:"+port+"?dial_timeout=30s")
	wantError(t, err, engine.ErrUnavailable, "certificate")
	_, err = redisengine.Open(context.Background(), "rediss://127.0.0.1:"+port+"?tls_name=redis.test&tls_ca="+key)
	wantError(t, err, nil, "holds no certificate")
}

// certificate writes a self-signed certificate for redis.test, and its key.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redis.test"}, DNSNames: []string{"redis.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, bytes []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", private)
}

func TestOldServer(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"6.0.16": "6.2", "5.0.7": "6.2", "2.8.0": "6.2"} {
		_, err := redisengine.Open(context.Background(), "redis://"+fakeServer(t, version, "redis_mode:standalone"))
		wantError(t, err, nil, want)
		if !strings.Contains(err.Error(), version) {
			t.Errorf("%q does not name the server version", err)
		}
	}
	for _, version := range []string{"6.2.0", "7.2.4", "10.0.0", "unstable"} {
		e, err := redisengine.Open(context.Background(), "redis://"+fakeServer(t, version, "redis_mode:standalone"))
		if err != nil {
			t.Errorf("Open with version %s: %v", version, err)
			continue
		}
		_ = e.Close()
	}
	_, err := redisengine.Open(context.Background(), "redis://"+fakeServer(t, "6.2.14", "redis_mode:standalone")+"?publish=spublish")
	wantError(t, err, nil, "7.0")
}
