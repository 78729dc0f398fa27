package gateway

import (
	"context"
	"fmt"
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
)

// A bank counts charges by their description. It charges on the first request of each
// description, and then calls fail instead of sending a response.
type bank struct {
	mu      sync.Mutex
	charges map[string]int
	fail    func(http.ResponseWriter)
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	order := r.FormValue("description")
	b.mu.Lock()
	b.charges[order]++
	n := b.charges[order]
	b.mu.Unlock()
	if n == 1 && b.fail != nil {
		b.fail(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id": "ch_%d", "object": "charge", "amount": 700}`, n)
}

// charged returns how often an order was charged.
func (b *bank) charged(order string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.charges[order]
}

func status(code int) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Stripe-Should-Retry", "true") // Stripe sends this field
		w.WriteHeader(code)
		fmt.Fprint(w, `{"error": {"message": "the bank failed", "type": "api_error"}}`)
	}
}

func resetConnection(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	_ = conn.(*net.TCPConn).SetLinger(0)
	_ = conn.Close()
}

// Stripe's own clients, with retries enabled, charge once through a proxy with default
// settings.
func TestGatewayStripe(t *testing.T) {
	clients := map[string]func(t *testing.T) []string{"stripe-python": stripePython, "stripe-go": stripeGo}
	failures := []struct {
		name    string
		fail    func(http.ResponseWriter)
		charges int    // the most charges that are allowed
		want    string // a part of the client's output
	}{
		{"the bank succeeds", nil, 1, "got ch_1"},
		{"the bank answers 500 once", status(500), 1, "got an error"},
		{"the bank resets the connection once", resetConnection, 1, "got an error"},
		{"a proxy of the bank answers 502 once", status(502), 1, "got an error"},
		// A 503 means that nothing happened, so a second request is allowed. Not every client retries.
		{"the bank answers 503 once", status(503), 2, "got"},
	}
	for name, install := range clients {
		t.Run(name, func(t *testing.T) {
			command := install(t)
			for i, f := range failures {
				t.Run(f.name, func(t *testing.T) {
					b := &bank{charges: make(map[string]int), fail: f.fail}
					service := httptest.NewServer(b)
					defer service.Close()
					order := fmt.Sprintf("%s-%d", name, i)
					ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
					defer cancel()
					out, err := exec.CommandContext(ctx, command[0], append(command[1:], proxyTo(t, service.URL), order)...).CombinedOutput()
					if err != nil || !strings.Contains(string(out), f.want) {
						t.Errorf("the client: got %v, want %q in its output:\n%s", err, f.want, out)
					}
					if n := b.charged(order); n == 0 || n > f.charges {
						t.Errorf("the bank charged %d times, want at least 1 and at most %d", n, f.charges)
					}
					fmt.Printf("gateway: %-13s %-41s: charged %d times, the client %s\n", name, f.name, b.charged(order), strings.TrimSpace(string(out)))
				})
			}
		})
	}
}

// proxyTo starts interlock proxy in front of a service and returns its URL.
func proxyTo(t *testing.T, to string, flags ...string) string {
	t.Helper()
	address := freeAddress(t)
	proxy := exec.Command(command, append([]string{"proxy", "--to", to, "--listen", address, "--admin", "off"}, flags...)...)
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Process.Kill(); _ = proxy.Wait() })
	url := "http://" + address
	waitForServer(t, url)
	return url
}

// stripePython installs Stripe's Python client and returns the command that charges.
func stripePython(t *testing.T) []string {
	requireProgram(t, "python3")
	dir := t.TempDir()
	out, err := exec.Command("python3", "-m", "pip", "install", "--quiet", "--target", dir, "stripe").CombinedOutput()
	if err != nil {
		skipNotInstallable(t, "stripe-python", out)
	}
	t.Setenv("PYTHONPATH", dir)
	return []string{"python3", "testdata/charge.py"}
}

// stripeGo builds a program with Stripe's Go client and returns its command.
func stripeGo(t *testing.T) []string {
	dir := t.TempDir()
	source, err := os.ReadFile("testdata/stripe-go/main.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"main.go": string(source), "go.mod": "module stripe\n\ngo 1.26\n\nrequire github.com/stripe/stripe-go/v82 v82.5.1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-mod=mod", "-o", "stripe", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	if out, err := build.CombinedOutput(); err != nil {
		skipNotInstallable(t, "stripe-go", out)
	}
	return []string{filepath.Join(dir, "stripe")}
}

// skipNotInstallable skips a test whose package cannot be installed, and prints the reason.
func skipNotInstallable(t *testing.T, name string, out []byte) {
	t.Helper()
	fmt.Printf("gateway: NOT CHECKED with %s, which cannot be installed: %s\n", name, strings.TrimSpace(string(out[max(0, len(out)-200):])))
	t.SkipNow()
}
