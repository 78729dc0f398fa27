package observe

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// gateway runs interlock serve in front of a small service, sends it requests until the
// test ends, and returns the address of its metrics.
func gateway(t *testing.T, command, redis string) (metrics string) {
	t.Helper()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/broken" {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(service.Close)
	metrics = freeAddress(t)
	front := freeAddress(t)
	config := filepath.Join(t.TempDir(), "interlock.yaml")
	text := fmt.Sprintf("engine: %s\nlisten: %s\nto: %s\nprincipal: none\nmetrics: %s\nrules:\n  - name: order\n    match: POST /orders\n    once: order:{header.Idempotency-Key}\n    scope: key\n",
		redis, front, service.URL, metrics)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, "http://"+metrics+"/metrics", nil, command, "serve", "--config", config)
	request(t, func(ctx context.Context, n int) {
		post(ctx, "http://"+front+"/orders", n/3) // two of three are duplicates
		if n%10 == 0 {
			post(ctx, "http://"+front+"/broken", n)
		}
	})
	return metrics
}

// demo runs interlock demo, clicks on the cases of its page until the test ends, and returns
// its address.
func demo(t *testing.T, command string) (address string) {
	t.Helper()
	address = freeAddress(t)
	start(t, "http://"+address+"/metrics", nil, command, "demo", "--n", "4", "--listen", address)
	request(t, func(ctx context.Context, n int) {
		post(ctx, "http://"+address+"/payments", n/3)
	})
	return address
}

// request calls click until the test ends.
func request(t *testing.T, click func(ctx context.Context, n int)) {
	ctx, stop := context.WithCancel(t.Context())
	var clicks sync.WaitGroup
	clicks.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			click(ctx, n)
			pause(ctx, 20*time.Millisecond)
		}
	})
	t.Cleanup(func() { stop(); clicks.Wait() })
}

// post sends a request with an idempotency key. It ignores the answer: the metrics show it.
func post(ctx context.Context, url string, key int) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		return
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", fmt.Sprintf("8f14e45f-ceea-467f-9575-%012d", key))
	if a, err := http.DefaultClient.Do(r); err == nil {
		_, _ = io.Copy(io.Discard, a.Body)
		_ = a.Body.Close()
	}
}
