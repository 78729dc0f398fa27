package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/gateway"
)

// The bodies of all guarded requests share one limit. A request whose body exceeds it gets
// 503, and is not executed.
func TestBodiesInMemoryAreBounded(t *testing.T) {
	d := newGate()
	optional := orders()
	optional.Match.Path, optional.Optional = "/optional", true
	shadow := orders()
	shadow.Match.Path, shadow.Shadow = "/shadow", true
	cfg := withRules(orders(), optional, shadow)
	cfg.Limits.Body, cfg.Limits.Bodies = 1000, 1000
	s := open(t, cfg, d)
	body := strings.Repeat("x", 600)

	var all sync.WaitGroup
	all.Go(func() {
		if got := s.send("POST", "/orders", body, key("k-1")); got.StatusCode != http.StatusOK {
			t.Errorf("the first request gets %v, want 200", got)
		}
	})
	<-d.arrived
	for _, size := range []int64{600, -1} { // a known length, and an unknown one
		got := s.send("POST", "/orders", body, key("k-2"), func(r *http.Request) { r.ContentLength = size })
		if got.StatusCode != http.StatusServiceUnavailable || got.code() != gateway.TooManyBodies || got.Header.Get("Retry-After") != "1" {
			t.Fatalf("a request above the limit gets %v %v, want 503 too_many_bodies", got, got.Header)
		}
	}
	// Bodies that are only passed on are not in memory. A shadow rule never refuses.
	for _, path := range []string{"/other", "/optional", "/shadow"} {
		all.Go(func() {
			if got := s.send("POST", path, strings.Repeat(body, 10)); got.StatusCode != http.StatusOK {
				t.Errorf("a request to %s gets %v, want 200", path, got)
			}
		})
		<-d.arrived
	}
	all.Go(func() {
		if got := s.send("POST", "/shadow", body, key("k-3")); got.StatusCode != http.StatusOK {
			t.Errorf("a request of a shadow rule above the limit gets %v, want 200", got)
		}
	})
	<-d.arrived
	close(d.open)
	all.Wait()
	// The bodies of answered and of refused requests no longer count.
	if got := s.send("POST", "/orders", strings.Repeat("x", 1000), key("k-4")); got.StatusCode != http.StatusOK {
		t.Errorf("after the other requests, a request with 1000 bytes gets %v, want 200", got)
	}
}

// A client that sends its body too slowly gets 408, even if no rule reads the body.
func TestASlowBodyWithoutARule(t *testing.T) {
	optional := orders()
	optional.Match.Path, optional.Optional = "/optional", true
	cfg := withRules(optional)
	cfg.Timeouts.Body = 500 * time.Millisecond
	s := open(t, cfg, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			panic(http.ErrAbortHandler)
		}
		if r.URL.Path == "/late" { // the deadline no longer applies, because the body has arrived
			time.Sleep(3 * cfg.Timeouts.Body)
		}
	}))
	for _, path := range []string{"/other", "/optional"} {
		for name, pause := range map[string]time.Duration{"a body that stops": time.Minute, "a body of a byte at a time": 100 * time.Millisecond} {
			t.Run(name+" "+path, func(t *testing.T) {
				t.Parallel()
				conn, err := net.Dial("tcp", s.front.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(time.Minute))
				fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: shop\r\nX-User: ann\r\nContent-Length: 1000\r\n\r\nabc", path)
				done := make(chan struct{})
				go func() { // until the gateway closes the connection
					defer close(done)
					for {
						if _, err := io.WriteString(conn, "x"); err != nil {
							return
						}
						select {
						case <-time.After(pause):
						case <-t.Context().Done():
							return
						}
					}
				}()
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatalf("no response: %v", err)
				}
				defer resp.Body.Close()
				if resp.StatusCode != http.StatusRequestTimeout {
					t.Errorf("the client gets %s, want 408", resp.Status)
				}
			})
		}
	}
	t.Run("a long upload passes, and an upstream may take its time", func(t *testing.T) {
		t.Parallel()
		if got := s.send("POST", "/other", strings.Repeat("x", 8<<20)); got.err != nil || got.StatusCode != http.StatusOK {
			t.Errorf("a long upload gets %v, want 200", got)
		}
		if got := s.send("POST", "/late", "x"); got.err != nil || got.StatusCode != http.StatusOK {
			t.Errorf("a request whose answer is late gets %v, want 200", got)
		}
	})
}
