package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/gateway"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/rule"
)

// recordID returns the id of the record of Ann's key, for a guard with the scope user+key.
func recordID(t *testing.T, name, id string) string {
	t.Helper()
	key, err := guard.StoredKey(name, guard.PerUser, guard.Of("ann", id))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Events and log lines name the record by the id that lists of records show. They contain
// neither the client's key nor its token. JSON is in snake_case, and durations are in
// milliseconds.
func TestEventsContainNoKeys(t *testing.T) {
	const secret = "key-of-ann-0123456789"
	form := on("POST /sign-up", rule.Once, "{header.Idempotent-Token}", guard.Policy{Name: "sign-up"})
	form.Form = "sign-up"
	cfg := withRules(orders(), form, on("POST /click", rule.Submit, "{header.Idempotency-Key}", guard.Policy{Name: "click", After: guard.Window, Window: time.Minute}))
	cfg.Namespace, cfg.Tokens = "shop", &config.Tokens{}
	s := open(t, withRules(), nil)
	cfg.Upstream = s.gateway.Config().Upstream
	client := interlock.New(nil)
	defer client.Close(t.Context())
	var events []gateway.Event
	var log bytes.Buffer
	g, err := gateway.New(cfg, gateway.Options{
		Client: client, Events: func(e gateway.Event) { events = append(events, e) },
		Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close(t.Context())
	send := func(method, path, field, value string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader("x"))
		r.RemoteAddr = "127.0.0.1:1"
		r.Header.Set("X-User", "ann")
		r.Header.Set(field, value)
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		return w
	}
	var token struct{ Token string }
	if w := send(http.MethodGet, "/idempotent-token?form=sign-up", "Accept", "*/*"); json.Unmarshal(w.Body.Bytes(), &token) != nil || token.Token == "" {
		t.Fatalf("the token endpoint answers %d %s, want a token", w.Code, w.Body)
	}
	for range 2 {
		send(http.MethodPost, "/orders", "Idempotency-Key", secret)
		send(http.MethodPost, "/click", "Idempotency-Key", secret)
		send(http.MethodPost, "/sign-up", "Idempotent-Token", token.Token)
	}
	send(http.MethodPost, "/sign-up", "Idempotent-Token", secret) // refused: it is not a token

	all, err := guard.NewRecords(client.With(interlock.Prefix("shop:")))
	if err != nil {
		t.Fatal(err)
	}
	records, _, err := all.From(t.Context(), "", "")
	if err != nil || len(records) != 3 {
		t.Fatalf("the records are %+v, error %v; want 3 records", records, err)
	}
	ids := map[string]string{}
	for _, rec := range records {
		ids[rec.Guard] = rec.Key
	}
	if len(events) != 7 {
		t.Fatalf("there are %d events, want 7: %+v", len(events), events)
	}
	for _, e := range events[:6] {
		if e.Key != ids[e.Rule] || strings.Count(log.String(), `"key":"`+e.Key+`"`) != 2 {
			t.Errorf("the event is %+v, and the record of %s is %s; want that id in the event and in two log lines; the log is\n%s", e, e.Rule, ids[e.Rule], &log)
		}
	}
	for _, e := range events {
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), secret) || strings.Contains(string(text), token.Token) {
			t.Errorf("the event contains a key or token: %s", text)
		}
		for _, m := range regexp.MustCompile(`"(\w+)":`).FindAllStringSubmatch(string(text), -1) {
			if !regexp.MustCompile(`^[a-z_]+$`).MatchString(m[1]) || strings.HasSuffix(m[1], "_s") {
				t.Errorf("the field %s is not in snake_case, or in seconds: %s", m[1], text)
			}
		}
		if !strings.Contains(string(text), `"took_ms":`) || e.Took <= 0 || e.Took > 600_000 {
			t.Errorf("the event has no duration in milliseconds: %s", text)
		}
	}
	if strings.Contains(log.String(), secret) || strings.Contains(log.String(), token.Token) {
		t.Errorf("the log contains a key or token:\n%s", &log)
	}
}

func TestSendingSeesTheContextOfTheClaimAndMaySetFields(t *testing.T) {
	var got http.Header
	s := open(t, withRules(), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Clone() }))
	cfg := withRules(orders())
	cfg.Upstream = s.gateway.Config().Upstream
	sent := 0
	g, err := gateway.New(cfg, gateway.Options{Client: interlock.New(nil), Log: slog.New(slog.DiscardHandler), Sending: func(r *http.Request) {
		fence, _ := guard.Fence(r.Context())
		r.Header.Set("Traceparent", fmt.Sprint("of the claim ", fence))
		sent++
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close(t.Context())
	for range 2 { // the second is a replay
		r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader("x"))
		r.RemoteAddr = "127.0.0.1:1"
		r.Header = http.Header{"X-User": {"ann"}, "Idempotency-Key": {"key-of-ann-0123456789"}, "Traceparent": {"of the client"}}
		g.ServeHTTP(httptest.NewRecorder(), r)
	}
	if want := "of the claim " + got.Get("Interlock-Fence"); sent != 1 || got.Get("Traceparent") != want || want == "of the claim " {
		t.Errorf("after %d requests, the upstream got %q, want %q after 1", sent, got.Get("Traceparent"), want)
	}
}
