package interlockhttp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// A spy is an engine that records everything it receives.
type spy struct {
	engine.Engine
	mu       sync.Mutex
	received bytes.Buffer
	down     bool
}

func (s *spy) Capabilities() engine.Capabilities {
	c := s.Engine.Capabilities()
	c.Ledger, c.InProcess = spied{c.Ledger, s}, false
	return c
}

func (s *spy) record(event any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(&s.received, "%+v\n", event)
	if s.down {
		return engine.ErrUnavailable
	}
	return nil
}

type spied struct {
	engine.Ledger
	spy *spy
}

func (s spied) Claim(ctx context.Context, c engine.Claim) (engine.Record, error) {
	if err := s.spy.record(c); err != nil {
		return engine.Record{}, err
	}
	return s.Ledger.Claim(ctx, c)
}

func (s spied) Settle(ctx context.Context, x engine.Settlement) (engine.Outcome, error) {
	if err := s.spy.record(fmt.Sprintf("%+v %q", x, x.Result)); err != nil {
		return 0, err
	}
	return s.Ledger.Settle(ctx, x)
}

func (s spied) Watch(key string) (wake <-chan struct{}, stop func()) {
	_ = s.spy.record(key)
	return s.Ledger.Watch(key)
}

// TestTrapSecrets looks for the key, the user and the token of a request in records, logs
// and errors.
func TestTrapSecrets(t *testing.T) {
	const key, user, payload = "telltale-key-4711", "telltale-user-4711", "telltale-payload"
	tokens, err := guard.NewTokens(time.Hour, make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	token := tokens.Issue(user, "order")
	e := &spy{Engine: memory.New()}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	traced := interlockhttp.Guarding(guard.WithTrace(guard.Log(logger)))
	held := guard.Policy{OnUnknown: guard.Hold}
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Fail") != "" {
			w.WriteHeader(http.StatusBadGateway)
		}
	}
	byKey := openOn(t, e, held, handler, traced)
	byToken := openOn(t, e, held, handler, traced, interlockhttp.WithTokens(tokens, "order"))
	spend := combine(without("Idempotency-Key"), with("Idempotent-Token", token), as(user))

	answers := []response{
		byKey.serve(key, payload, as(user)),
		byKey.serve(key, payload, as(user)),
		byKey.serve(key, "other", as(user)),
		byKey.serve(key+"-2", payload, as(user), with("X-Fail", "1")),
		byKey.serve(key+"-2", payload, as(user)),
		byKey.serve(key+"\x01", payload, as(user)),
		byKey.serve(key, payload, as(user), with("Connection", "Idempotency-Key")),
		byKey.serve(key, payload, as(user), with("Idempotency-Key", key, key+"-2")),
		byToken.serve("", payload, spend),
		byToken.serve("", "other", spend),
		byToken.serve("", payload, spend, as("bob")),
		byToken.serve("", payload, spend, with("Idempotent-Token", token+"x")),
	}
	e.down = true
	answers = append(answers, byKey.serve(key+"-3", payload, as(user)))
	e.down = false
	statuses := ""
	for i, a := range answers {
		statuses += fmt.Sprint(a.status, " ")
		if strings.Contains(a.body, "telltale") || strings.Contains(a.body, token) {
			t.Errorf("response %d contains a secret: %s", i, a.body)
		}
	}
	if want := "200 200 422 502 409 400 400 400 200 422 403 403 503 "; statuses != want {
		t.Errorf("the statuses are %s, want %s", statuses, want)
	}
	for place, text := range map[string]string{"the engine": e.received.String(), "the log": log.String()} {
		if text == "" {
			t.Errorf("%s is empty, so the test proves nothing", place)
		}
		if strings.Contains(text, "telltale") || strings.Contains(text, token) {
			t.Errorf("%s contains a secret:\n%s", place, text)
		}
	}
}

// TestTrapProblemsOfKeys checks that a problem does not contain the refused key.
func TestTrapProblemsOfKeys(t *testing.T) {
	s := open(t, kept, nil)
	for _, key := range []string{`<script>alert("4711")</script>`, "4711\x01", "4711 4711", strings.Repeat("4711", 100)} {
		a := s.serve(key, "x")
		a.problem(400, interlockhttp.KeyInvalid)
		if strings.Contains(a.body, "4711") || a.header.Get("Idempotency-Key") != "" {
			t.Errorf("the refused key %q is in the response %s with %v", key, a.body, a.header)
		}
	}
	s.ran(0)
}

// TestTrapErrors checks that errors which a service may log do not contain the key.
func TestTrapErrors(t *testing.T) {
	var sent error
	s := open(t, kept, nil, interlockhttp.WriteProblem(func(w http.ResponseWriter, _ *http.Request, p *interlockhttp.Problem) {
		sent = p
		w.WriteHeader(p.Status)
	}))
	s.serve("telltale-1", "x")
	s.serve("telltale-1", "y")
	if !errors.Is(sent, guard.ErrMismatch) || strings.Contains(sent.Error(), "telltale") || strings.Contains(sent.Error(), "ann") {
		t.Errorf("the error is %v, want ErrMismatch without the key and the user", sent)
	}
}
