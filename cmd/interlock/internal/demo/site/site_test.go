package site_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/cases"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/site"
	"github.com/interlock-go/interlock/engine/memory"
)

// open serves a demo until the test ends.
func open(t *testing.T) *site.Site {
	t.Helper()
	s, err := site.Open(t.Context(), site.Options{Listen: "127.0.0.1:0", Engine: memory.New(), Name: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		began := time.Now()
		if err := <-ended; err != nil {
			t.Errorf("Serve returned %v", err)
		}
		if took := time.Since(began); took > time.Minute { // Serve does not wait for clients
			t.Errorf("Serve returned %v after it was cancelled", took)
		}
	})
	return s
}

// run runs a case as the page does, and returns its events and verdict.
func run(t *testing.T, s *site.Site, id string, direct bool) ([]cases.Event, cases.Verdict) {
	t.Helper()
	ask, _ := json.Marshal(map[string]any{"case": id, "direct": direct})
	resp, err := http.Post(s.URL+"/demo/run", "application/json", strings.NewReader(string(ask)))
	if err != nil {
		t.Error(err)
		return nil, cases.Verdict{}
	}
	defer resp.Body.Close()
	var events []cases.Event
	var verdict cases.Verdict
	kind := ""
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, what, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case name == "event":
			kind = what
		case name == "data" && kind == "event":
			var e cases.Event
			err = errors.Join(err, json.Unmarshal([]byte(what), &e))
			events = append(events, e)
		case name == "data" && kind == "verdict":
			err = errors.Join(err, json.Unmarshal([]byte(what), &verdict))
		case name == "data":
			t.Errorf("unexpected event %s: %s", kind, what)
		}
	}
	if err != nil {
		t.Error(err)
	}
	return events, verdict
}

// Requirements L5, L6, L7, S1, S3, S6, P10, R1, T14, through the proxy: every case is broken
// when it is called directly, and correct behind Interlock.
func TestEveryCaseIsOnlyCorrectBehindInterlock(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, c := range cases.Cases() {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel() // they mostly wait
			var both sync.WaitGroup
			defer both.Wait()
			for _, direct := range []bool{true, false} {
				both.Go(func() { checkCase(t, s, c.ID, direct) })
			}
		})
	}
}

// checkCase runs a case. It expects a broken result if the case runs directly, and a correct
// one behind Interlock.
func checkCase(t *testing.T, s *site.Site, id string, direct bool) {
	var events []cases.Event
	var verdict cases.Verdict
	for range 5 {
		events, verdict = run(t, s, id, direct)
		if verdict.OK != direct || !direct {
			break
		}
		// On a busy machine, direct requests may come one after the other: try again.
	}
	if verdict.OK == direct && (direct || !enteredInTurn(events, windows[id])) {
		t.Errorf("directly %v: OK is %v, want the opposite:\n%v\n%v", direct, verdict.OK, verdict.Findings, verdict.Violations)
	}
	last := 0.0
	for _, e := range events {
		if e.AtMS < last {
			t.Errorf("an event at %v ms follows one at %v ms", e.AtMS, last)
		}
		last = e.AtMS
	}
}

// windows are the windows of demo.yaml in which repeats are refused.
var windows = map[string]time.Duration{"concurrent": 2 * time.Second, "setnx": 3 * time.Second, "click": time.Second}

// enteredInTurn reports whether a request that entered the shop was sent a window before the
// next one entered. On a busy machine, a repeat may come after the window, and then runs.
func enteredInTurn(events []cases.Event, window time.Duration) bool {
	asked, before := make(map[int]float64), 0
	for _, e := range events {
		switch e.Kind {
		case cases.Ask:
			asked[e.Request] = e.AtMS
		case cases.Enter:
			if before != 0 && e.AtMS-asked[before] < float64(window.Milliseconds()) {
				return false
			}
			before = e.Request
		}
	}
	return window > 0 && before != 0
}

// An answer is a response with its body.
type answer struct {
	status int
	header http.Header
	body   string
}

func get(t *testing.T, url string, header ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(body)}
}

func TestThePage(t *testing.T) {
	t.Parallel()
	s := open(t)
	t.Run("S6: both paths serve the page, in the preferred language", func(t *testing.T) {
		for _, path := range []string{"/", "/ratelimit/duplicate-submit-test"} {
			for accept, want := range map[string]string{"": "en", "en-GB,zh;q=0.5": "en", "zh-CN,en;q=0.8": "zh-CN"} {
				got := get(t, s.URL+path, "Accept-Language", accept)
				if got.status != http.StatusOK || !strings.Contains(got.body, `<html lang="`+want+`"`) {
					t.Errorf("%s for %q: got status %d, want a page in %s", path, accept, got.status, want)
				}
				if p := got.header.Get("Content-Security-Policy"); !strings.Contains(p, "default-src 'none'") || strings.Contains(p, "unsafe") {
					t.Errorf("the policy is %q, want default-src 'none' and nothing unsafe", p)
				}
			}
		}
	})
	t.Run("every case has texts, a snippet, a rule and curl commands", func(t *testing.T) {
		body := get(t, s.URL+"/demo/cases").body
		var list struct {
			Cases []struct {
				ID, Go, Rule string
				Title, About cases.Bilingual
				Curl         [2]string
			}
			Config string
		}
		if err := json.Unmarshal([]byte(body), &list); err != nil {
			t.Fatal(err)
		}
		if len(list.Cases) != len(cases.Cases()) || !strings.Contains(list.Config, "to: "+s.Shop) {
			t.Errorf("the page lists %d cases, want %d and the URL of the shop in the configuration\n%s", len(list.Cases), len(cases.Cases()), list.Config)
		}
		for _, c := range list.Cases {
			if !strings.HasPrefix(c.Rule, "- match: ") || strings.Count(c.Rule, "\n") < 2 || !strings.Contains(c.Go, "func ") ||
				!strings.Contains(c.Curl[0], s.Shop) || !strings.Contains(c.Curl[1], s.URL) || c.Title.Chinese == "" {
				t.Errorf("%s lacks something: %+v", c.ID, c)
			}
		}
	})
	t.Run("other origins and other host names are refused", func(t *testing.T) {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/demo/run", strings.NewReader(`{"case":"click"}`))
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("from another origin: %d, want 403", resp.StatusCode)
		}
		if got := get(t, s.URL+"/", "Host", "evil.example"); got.status != http.StatusMisdirectedRequest {
			t.Errorf("with another host name: %d, want 421", got.status)
		}
	})
	t.Run("invalid run requests are refused", func(t *testing.T) {
		for ask, want := range map[string]int{`{"case":"none"}`: 404, `{`: 400, `{"case":"click","n":9}`: 400, strings.Repeat(" ", 5000): 400} {
			resp, err := http.Post(s.URL+"/demo/run", "application/json", strings.NewReader(ask))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("%.20q: %d, want %d", ask, resp.StatusCode, want)
			}
		}
	})
}

// The shop, the gateway and the admin API are reachable beside the page.
func TestEverythingIsOnOnePort(t *testing.T) {
	t.Parallel()
	s := open(t)
	for url, want := range map[string]string{
		s.Shop + "/state": `"damage"`, s.URL + "/state": `"damage"`, s.URL + "/api/v1/locks": `"locks"`, s.URL + "/openapi.json": `"openapi"`,
		s.URL + "/readyz": "", s.URL + "/api/v1/rules": `"desk"`, s.URL + "/metrics": "interlock_gateway_requests_total{",
	} {
		if got := get(t, url); got.status != http.StatusOK || !strings.Contains(got.body, want) {
			t.Errorf("%s: got %d, want 200 with %q\n%.300s", url, got.status, want, got.body)
		}
	}
}

func TestOpenRefusesPublicAddresses(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:0"} {
		if _, err := site.Open(t.Context(), site.Options{Listen: listen, Engine: memory.New()}); !errors.Is(err, site.ErrLoopback) {
			t.Errorf("%s: %v, want ErrLoopback", listen, err)
		}
	}
}
