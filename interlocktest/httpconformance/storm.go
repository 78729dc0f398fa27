package httpconformance

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// stormURL is the environment variable that makes the test's program one of the servers.
const stormURL = "HTTPCONFORMANCE_STORM"

// Storm sends 1,000 concurrent duplicates to three processes that serve a framework, and
// share the engine at url. One request runs, and all get its response. The three processes
// are the test's own program, which calls Storm in a test without subtests; open opens the
// engine.
func Storm(t *testing.T, f Framework, url func(testing.TB) string, open func(ctx context.Context, url string) (engine.Engine, error)) {
	if at := os.Getenv(stormURL); at != "" {
		serveStorm(t, f, at, open)
		return
	}
	const requests, processes = 1000, 3
	at := url(t)
	servers := make([]string, processes)
	for i := range servers {
		servers[i] = startServer(t, at)
	}
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 100, MaxIdleConnsPerHost: 100}, Timeout: patience}
	defer client.CloseIdleConnections()
	send := func(method, url string) (int, string, error) {
		r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("an order"))
		if err != nil {
			return 0, "", err
		}
		r.Header.Set(FieldUser, "ann")
		r.Header.Set("Idempotency-Key", "storm")
		resp, err := client.Do(r)
		if err != nil {
			return 0, "", err
		}
		defer resp.Body.Close() //nolint:errcheck // it was read
		text, err := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text), err
	}
	bodies := make([]string, requests)
	var all sync.WaitGroup
	for i := range bodies {
		all.Go(func() {
			for { // a 409 says that the request runs, and asks to repeat it
				status, body, err := send(http.MethodPost, servers[i%processes]+"/orders")
				switch {
				case err != nil:
					t.Errorf("request %d: %v", i, err)
					return
				case status == http.StatusConflict && strings.Contains(body, string(interlockhttp.InProgress)):
					continue
				case status != http.StatusOK:
					t.Errorf("request %d: got %d %q", i, status, body)
					return
				}
				bodies[i] = body
				return
			}
		})
	}
	all.Wait()
	for i, body := range bodies {
		if body != bodies[0] {
			t.Fatalf("request %d got %q, request 0 got %q", i, body, bodies[0])
		}
	}
	runs := 0
	for _, server := range servers {
		_, text, err := send(http.MethodGet, server+"/runs")
		var n int
		if _, scanned := fmt.Sscan(text, &n); err != nil || scanned != nil {
			t.Fatalf("%s/runs: %q (%v)", server, text, err)
		}
		runs += n
	}
	if runs != 1 {
		t.Errorf("the handler ran %d times, want once", runs)
	}
	t.Logf("%s: %d duplicates over %d processes on %s: %d execution", f.Name, requests, processes, strings.SplitN(at, ":", 2)[0], runs)
}

// startServer starts this program as a server, and returns its URL. The server ends with
// the test, because its standard input ends.
func startServer(t *testing.T, at string) (url string) {
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1") //nolint:gosec,noctx // this program
	cmd.Env = append(os.Environ(), stormURL+"="+at)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan string, 1) // closed when the server has ended
	t.Cleanup(func() {
		_ = stdin.Close()
		for range started { // until its standard output ends
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("a server: %v", err)
		}
	})
	go func() { // to the end: a server that cannot write its log would stop
		defer close(started)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if url, ok := strings.CutPrefix(lines.Text(), "serving "); ok {
				started <- url
			}
		}
	}()
	if url, ok := <-started; ok {
		return url
	}
	t.Fatal("a server did not start")
	return ""
}

// serveStorm is one of the servers.
func serveStorm(t *testing.T, f Framework, at string, open func(ctx context.Context, url string) (engine.Engine, error)) {
	e, err := open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	client := interlock.New(e)
	t.Cleanup(func() {
		if err := client.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s := &suite{T: t, framework: f, client: client}
	p := guard.Charge("orders")
	p.OnDuplicate = guard.Wait
	count := func(x Exchange) error { return x.Send(http.StatusOK, fmt.Sprint(s.runs.Load())) }
	order := func(x Exchange) error {
		s.runs.Add(1)
		return x.Send(http.StatusOK, fmt.Sprint("order by ", os.Getpid()))
	}
	url := f.Serve(t, []Route{
		{Method: http.MethodPost, Path: "/orders", Wraps: []func(http.Handler) http.Handler{s.once(p)}, Handle: order},
		{Method: http.MethodGet, Path: "/runs", Handle: count},
	})
	fmt.Println("serving " + url)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
}
