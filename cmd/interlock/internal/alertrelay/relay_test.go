package alertrelay_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/cmd/interlock/internal/alertrelay"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
)

const secret = "SEC000000000000000000000"

// A dingtalk is a receiver that checks what DingTalk checks: the token, the signature, that
// the timestamp is at most an hour old, the type of the message, and the limit of 20
// messages a minute.
type dingtalk struct {
	mu       sync.Mutex
	answer   func(n int) (status int, body string) // of the n-th request; nil: the usual answer
	delay    time.Duration
	received []time.Time
	texts    []string // of the accepted messages
}

func (d *dingtalk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(d.delay)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.received = append(d.received, time.Now())
	if d.answer != nil {
		if status, body := d.answer(len(d.received)); status != 0 {
			w.Header().Set("Location", "https://elsewhere.test/") // for a redirect
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
			return
		}
	}
	if code, text := d.check(r); code != 0 {
		fmt.Fprintf(w, `{"errcode":%d,"errmsg":%q}`, code, text)
		return
	}
	_, _ = io.WriteString(w, `{"errcode":0,"errmsg":"ok"}`)
}

func (d *dingtalk) check(r *http.Request) (code int, text string) {
	q := r.URL.Query()
	if q.Get("access_token") != "t0ken" {
		return 300001, "token is not exist"
	}
	millis, err := strconv.ParseInt(q.Get("timestamp"), 10, 64)
	if err != nil || math.Abs(float64(time.Since(time.UnixMilli(millis)))) > float64(time.Hour) {
		return 310000, "timestamp not match"
	}
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d\n%s", millis, secret)
	if q.Get("sign") != base64.StdEncoding.EncodeToString(mac.Sum(nil)) {
		return 310000, "sign not match"
	}
	recent := 0
	for _, at := range d.received {
		if time.Since(at) < time.Minute {
			recent++
		}
	}
	if recent > 20 {
		return 130101, "send too fast"
	}
	var m struct {
		Type     string `json:"msgtype"`
		Markdown struct{ Title, Text string }
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m.Type != "markdown" || m.Markdown.Title == "" || len(m.Markdown.Text) > 20000 {
		return 40035, "invalid parameter"
	}
	d.texts = append(d.texts, m.Markdown.Text)
	return 0, ""
}

// RoundTrip calls the receiver without a network, so that time can be virtual.
func (d *dingtalk) RoundTrip(r *http.Request) (*http.Response, error) {
	w, done := httptest.NewRecorder(), make(chan struct{})
	go func() {
		defer close(done)
		d.ServeHTTP(w, r)
	}()
	select {
	case <-done:
		return w.Result(), nil
	case <-r.Context().Done():
		<-done
		return nil, r.Context().Err()
	}
}

// start runs a relay in front of a receiver until the test ends.
func start(t *testing.T, transport http.RoundTripper, lang i18n.Language) *alertrelay.Relay {
	t.Helper()
	r, err := alertrelay.New(alertrelay.Options{
		Webhook: "https://robot.test/send?access_token=t0ken", Secret: secret, Lang: lang,
		Log: slog.New(slog.DiscardHandler), Transport: transport,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Send(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return r
}

func notify(r http.Handler, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/dingtalk", strings.NewReader(body)))
	return w
}

func firing(names ...string) string {
	var alerts []string
	for _, name := range names {
		alerts = append(alerts, fmt.Sprintf(`{"status":"firing","labels":{"alertname":%q,"severity":"critical","name":"orders"},
			"annotations":{"summary":"in English","summary_zh":"中文摘要","runbook_url":"docs/runbooks/X.md"},"startsAt":"2026-01-02T03:04:05Z"}`, name))
	}
	return `{"version":"4","externalURL":"http://am.test","alerts":[` + strings.Join(alerts, ",") + `]}`
}

func redirectOnce(n int) (int, string) {
	if n == 1 {
		return http.StatusFound, ""
	}
	return 0, ""
}

func TestRelay(t *testing.T) {
	for name, c := range map[string]struct {
		body     string
		lang     i18n.Language
		answer   func(int) (int, string)
		delay    time.Duration
		status   int
		requests int
		contains string // in the message, or else in the answer
	}{
		"a firing alert becomes a signed message in Chinese": {body: firing("A"), lang: i18n.Chinese, status: 200, requests: 1, contains: "**[触发] 中文摘要**"},
		"a message can be in English":                        {body: firing("A"), status: 200, requests: 1, contains: "**[firing] in English**"},
		"a resolved alert says so":                           {body: strings.Replace(firing("A"), "firing", "resolved", 1), lang: i18n.Chinese, status: 200, requests: 1, contains: "0 条触发，1 条恢复"},
		"labels and the runbook are in the message":          {body: firing("A"), status: 200, requests: 1, contains: "- name: orders\n- since: 2026-01-02T03:04:05Z\n- runbook: docs/runbooks/X.md\n\n[Alertmanager](http://am.test)"},
		"the rest of many alerts is counted":                 {body: firing(strings.Fields(strings.Repeat("A ", 25))...), status: 200, requests: 1, contains: "and 5 more alerts"},
		"labels cannot add links or mentions":                {body: firing("[x](http://evil.test)\n@all"), status: 200, requests: 1, contains: "- alertname: x(http://evil.test) all\n"},
		"an error with status 200 is an error":               {body: firing("A"), answer: func(int) (int, string) { return 200, `{"errcode":310000,"errmsg":"sign not match"}` }, status: 502, requests: 1, contains: "errcode 310000: sign not match"},
		"an answer that is not from DingTalk is an error":    {body: firing("A"), answer: func(int) (int, string) { return 200, "<html>" }, status: 502, requests: 1, contains: "check the webhook"},
		"a busy DingTalk is asked again": {body: firing("A"), answer: func(n int) (int, string) {
			if n < 3 {
				return 200, `{"errcode":-1,"errmsg":"system busy"}`
			}
			return 0, ""
		}, status: 200, requests: 3, contains: "in English"},
		"a server that is down is asked three times":  {body: firing("A"), answer: func(int) (int, string) { return 503, "" }, status: 502, requests: 3, contains: "status 503"},
		"a redirect is not followed":                  {body: firing("A"), answer: redirectOnce, status: 502, requests: 1, contains: "status 302"},
		"a slow server is given up":                   {body: firing("A"), delay: time.Hour, status: 502, requests: 3, contains: "cannot be reached"},
		"a notification without alerts sends nothing": {body: `{"alerts":[]}`, status: 200},
		"a body that is not JSON is refused":          {body: "alerts", status: 400, contains: "not a notification"},
		"a large body is refused":                     {body: `{"alerts":[{"status":"` + strings.Repeat("x", 2<<20) + `"}]}`, status: 413, contains: "1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &dingtalk{answer: c.answer, delay: c.delay}
				w := notify(start(t, d, c.lang), c.body)
				got := w.Body.String() + strings.Join(d.texts, "\n")
				if w.Code != c.status || len(d.received) != c.requests || !strings.Contains(got, c.contains) {
					t.Errorf("status %d after %d requests, want %d after %d; want %q in:\n%s", w.Code, len(d.received), c.status, c.requests, c.contains, got)
				}
				if strings.Contains(w.Body.String(), "t0ken") {
					t.Error("the answer contains the access token")
				}
			})
		})
	}
}

// The receiver refuses more than 20 messages a minute, so no alert is lost only if the relay
// merges them.
func TestAFloodIsMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dingtalk{}
		r := start(t, d, i18n.English)
		var all sync.WaitGroup
		for i := range 100 {
			time.Sleep(100 * time.Millisecond)
			all.Go(func() {
				if w := notify(r, firing(fmt.Sprintf("alert-%d.", i))); w.Code != http.StatusOK {
					t.Errorf("notification %d: status %d: %s", i, w.Code, w.Body)
				}
			})
		}
		all.Wait()
		if n := len(d.texts); n != 21 {
			t.Errorf("%d messages, want 20 and one for the rest", n)
		}
		if last := d.texts[len(d.texts)-1]; !strings.Contains(last, "80 firing") || !strings.Contains(last, "and 60 more alerts") {
			t.Errorf("the last message is\n%s", last)
		}
	})
}

func TestANotificationWhoseSenderGaveUpIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dingtalk{}
		r := start(t, d, i18n.English)
		for range 20 {
			notify(r, firing("A"))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		req := httptest.NewRequest(http.MethodPost, "/dingtalk", strings.NewReader(firing("B"))).WithContext(ctx)
		r.ServeHTTP(httptest.NewRecorder(), req)
		time.Sleep(2 * time.Minute)
		if len(d.texts) != 20 {
			t.Errorf("%d messages, want 20", len(d.texts))
		}
	})
}

func TestTooManyPendingNotificationsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &dingtalk{delay: 5 * time.Second}, i18n.English)
		var all sync.WaitGroup
		var mu sync.Mutex
		codes := map[int]int{}
		send := func() {
			w := notify(r, firing("A"))
			mu.Lock()
			defer mu.Unlock()
			codes[w.Code]++
		}
		all.Go(send)
		synctest.Wait() // DingTalk has the first one for 5 seconds
		for range 300 {
			all.Go(send)
		}
		all.Wait()
		if codes[200] != 201 || codes[503] != 100 {
			t.Errorf("answers: %v, want 200 for the first and for 200 that may wait, and 503 for the others", codes)
		}
	})
}

func TestOtherRequests(t *testing.T) {
	r := start(t, &dingtalk{}, i18n.English)
	for request, want := range map[string]int{"GET /healthz": 200, "POST /healthz": 405, "GET /dingtalk": 405, "GET /": 404, "POST /other": 404} {
		method, path, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		if w.Code != want {
			t.Errorf("%s: status %d, want %d", request, w.Code, want)
		}
	}
}

// With sockets: a shutdown delivers the pending notification, and then refuses connections.
func TestShutdownDeliversPendingNotifications(t *testing.T) {
	began, proceed := make(chan struct{}), make(chan struct{})
	d := &dingtalk{answer: func(int) (int, string) { close(began); <-proceed; return 0, "" }}
	server := httptest.NewServer(d)
	defer server.Close()
	r, err := alertrelay.New(alertrelay.Options{Webhook: server.URL + "/?access_token=t0ken", Secret: secret, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- r.Run(ctx, l) }()
	answered := make(chan error, 1)
	go func() {
		resp, err := http.Post("http://"+l.Addr().String()+"/dingtalk", "application/json", strings.NewReader(firing("A")))
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				err = errors.New(resp.Status)
			}
		}
		answered <- err
	}()
	<-began
	stop()
	close(proceed)
	if err := <-answered; err != nil {
		t.Errorf("the pending notification: %v", err)
	}
	if err := <-ran; err != nil {
		t.Errorf("Run returned %v", err)
	}
	if len(d.texts) != 1 {
		t.Errorf("%d messages, want 1", len(d.texts))
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("the address is still open")
	}
}

func TestErrorsDoNotContainTheToken(t *testing.T) {
	for _, webhook := range []string{"", "robot.test?access_token=t0ken", "ftp://x?access_token=t0ken", "https://\x7f?access_token=t0ken"} {
		if _, err := alertrelay.New(alertrelay.Options{Webhook: webhook}); !errors.Is(err, alertrelay.ErrWebhook) || strings.Contains(err.Error(), "t0ken") {
			t.Errorf("webhook %q: %v", webhook, err)
		}
	}
}
