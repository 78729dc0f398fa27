package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// A gatewayFixture is a gateway process with its service, its Redis and its configuration.
// The process can be killed and restarted at the same address.
type gatewayFixture struct {
	t          *testing.T
	service    *service
	file       string
	url, admin string
	client     *http.Client
	process    *exec.Cmd
	log        *os.File
}

// strictConfig is the configuration of a gateway that never sends an order twice.
const strictConfig = `engine: %s
listen: %s
to: %s
principal: none
admin: {listen: %s, tokens: [{name: test, role: view, sha256: 69379c5e1886a5f94263464b80003858a8a43b1a44a912a669db20ee8cf500a9}]}
rules:
  - match: POST /orders
    once: order:{header.Idempotency-Key}
    scope: key
    preset: charge
    lease: 2s
`

func newGateway(t *testing.T, work time.Duration) *gatewayFixture {
	t.Helper()
	f := &gatewayFixture{
		t: t, service: startService(t, work), file: filepath.Join(t.TempDir(), "interlock.yaml"),
		client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 512}},
	}
	t.Cleanup(f.client.CloseIdleConnections)
	listen, admin := freeAddress(t), freeAddress(t)
	f.url, f.admin = "http://"+listen, "http://"+admin
	text := fmt.Sprintf(strictConfig, redistest.Start(t).URL(), listen, f.service.URL, admin)
	if err := os.WriteFile(f.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if f.log, err = os.Create(f.file + ".log"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.kill()
		_ = f.log.Close()
		if text, err := os.ReadFile(f.file + ".log"); t.Failed() && err == nil {
			t.Logf("log of the gateway:\n%s", text[max(0, len(text)-4000):])
		}
	})
	f.start()
	return f
}

// freeAddress returns an address without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start starts the gateway and waits until it is ready.
func (f *gatewayFixture) start() {
	f.t.Helper()
	f.process = exec.Command(command, "serve", "--config", f.file, "--log", "json")
	f.process.Stderr = f.log
	if err := f.process.Start(); err != nil {
		f.t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; <-time.After(5 * time.Millisecond) {
		resp, err := f.client.Get(f.admin + "/readyz")
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(end) {
			f.t.Fatalf("the gateway is not ready within 20s: %v", err)
		}
	}
}

// kill kills the process with SIGKILL.
func (f *gatewayFixture) kill() {
	if f.process != nil && f.process.ProcessState == nil {
		_ = f.process.Process.Kill()
		_ = f.process.Wait()
	}
}

// A reply is the response to a request, or its error.
type reply struct {
	status   int
	code     string // of the problem
	body     string
	replayed bool
	err      error
	took     time.Duration
}

// order sends an order once.
func (f *gatewayFixture) order(ctx context.Context, key string) (r reply) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url+"/orders", strings.NewReader(`{"sku":"book","n":1}`))
	if err != nil {
		return reply{err: err}
	}
	req.GetBody = nil // otherwise net/http retries
	req.Header.Set("Idempotency-Key", key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := f.client.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	r = reply{status: resp.StatusCode, body: string(text), replayed: resp.Header.Get("Idempotent-Replayed") == "true", err: err}
	if resp.Header.Get("Content-Type") == "application/problem+json" {
		var problem struct{ Code string }
		_ = json.Unmarshal(text, &problem) // on an error the code stays empty
		r.code = problem.Code
	}
	return r
}

// unknown returns the claims that the admin API lists as unknown.
func (f *gatewayFixture) unknown() map[string]bool {
	f.t.Helper()
	all := make(map[string]bool)
	for cursor, more := "", true; more; more = cursor != "" {
		r, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, f.admin+"/api/v1/claims?state=unknown&limit=200&cursor="+cursor, nil)
		if err != nil {
			f.t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer torture-gateway-token")
		resp, err := f.client.Do(r)
		if err != nil {
			f.t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		var page struct {
			Claims []struct{ ID, State string }
			Next   string `json:"next_cursor"`
		}
		if err != nil || resp.StatusCode != http.StatusOK || json.NewDecoder(bytes.NewReader(text)).Decode(&page) != nil {
			f.t.Fatalf("GET /api/v1/claims: got %d %v, want 200 and JSON\n%s", resp.StatusCode, err, text)
		}
		for _, c := range page.Claims {
			if c.State != "unknown" {
				f.t.Errorf("%s is %s, but was listed as unknown", c.ID, c.State)
			}
			all[c.ID] = true
		}
		cursor = page.Next
	}
	return all
}

// A service handles orders and counts how often it ran each.
type service struct {
	*httptest.Server
	mu   sync.Mutex
	runs map[string]int
	work time.Duration
}

func startService(t *testing.T, work time.Duration) *service {
	s := &service{runs: make(map[string]int), work: work}
	s.Server = httptest.NewServer(http.HandlerFunc(s.handleOrder))
	t.Cleanup(s.Close)
	return s
}

func (s *service) handleOrder(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	key := r.Header.Get("Idempotency-Key")
	s.mu.Lock()
	s.runs[key]++
	n := len(s.runs)
	s.mu.Unlock()
	<-time.After(s.work)
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"order":%d,"for":%q}`, n, key)
}

func (s *service) runCount(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[key]
}
