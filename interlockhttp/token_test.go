package interlockhttp_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

func TestTokens(t *testing.T) {
	tokens, err := guard.NewTokens(time.Hour, make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	issue := func(t *testing.T, user, form string) string {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, "/idempotent-token", http.NoBody)
		r.Header.Set("X-User", user)
		w := httptest.NewRecorder()
		interlockhttp.TokenHandler(tokens, form, signedIn).ServeHTTP(w, r)
		var got struct {
			Token, Header string
			Expires       int `json:"expires_in"`
		}
		decode(t, w, &got)
		if w.Code != 200 || got.Expires != 3600 || got.Header != "Idempotent-Token" || w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Fatalf("the token endpoint answers %d %s with %v", w.Code, w.Body, w.Header())
		}
		return got.Token
	}
	shop := func(t *testing.T) *shop { return open(t, kept, nil, interlockhttp.WithTokens(tokens, "order")) }
	spend := func(token string) edit { return combine(without("Idempotency-Key"), with("Idempotent-Token", token)) }

	t.Run("P1 a token is spent once, and replays its response", func(t *testing.T) {
		s := shop(t)
		token := issue(t, "ann", "order")
		first := s.serve("", "x", spend(token)).is(201, "order 1 of x")
		s.serve("", "x", spend(token)).replays(first)
		s.serve("", "y", spend(token)).problem(422, interlockhttp.KeyReused)
		s.ran(1)
	})
	t.Run("P1 a token replays its response even if the connection broke before it arrived", func(t *testing.T) {
		s := shop(t)
		again := spend(issue(t, "ann", "order"))
		s.mux.ServeHTTP(&brokenConn{httptest.NewRecorder(), func() {}}, s.request("", "x", again))
		s.serve("", "x", again).replays(response{status: 201, body: "order 1 of x", header: http.Header{"Location": {"/orders/1"}}})
		s.ran(1)
	})
	t.Run("the client of the middleware counts tokens by form", func(t *testing.T) {
		client := interlock.New(nil)
		own, err := guard.NewTokens(time.Hour, make([]byte, 32))
		if err != nil {
			t.Fatal(err)
		}
		m := interlockhttp.Must(interlockhttp.Once(client, guard.Policy{Name: "order"}, interlockhttp.User(signedIn), interlockhttp.WithTokens(own, "order")))
		defer m.Close(t.Context())
		own.Issue("ann", "order")
		if got := guard.TokenStatsOf(client)["order"]; got.Issued != 1 {
			t.Errorf("the counters are %+v, want one token issued", got)
		}
	})
	t.Run("P1 unknown and foreign tokens get different problems", func(t *testing.T) {
		s := shop(t)
		s.serve("", "x", spend("made-up")).problem(403, interlockhttp.TokenUnknown)
		s.serve("", "x", spend(issue(t, "bob", "order"))).problem(403, interlockhttp.TokenForeign)
		s.serve("", "x", spend(issue(t, "ann", "refund"))).problem(403, interlockhttp.TokenForeign)
		s.ran(0)
	})
	t.Run("P1 an expired token is refused, unless it was spent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := shop(t)
			spent, unspent := issue(t, "ann", "order"), issue(t, "ann", "order")
			first := s.serve("", "x", spend(spent))
			time.Sleep(time.Hour)
			s.serve("", "x", spend(unspent)).problem(410, interlockhttp.TokenExpired)
			s.serve("", "x", spend(spent)).replays(first)
		})
	})
	t.Run("P1 a token requires a user and GET", func(t *testing.T) {
		h := interlockhttp.TokenHandler(tokens, "order", signedIn)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		read(t, w.Result()).problem(401, interlockhttp.UserMissing)
		w = httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", http.NoBody))
		if w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("POST gets %d with Allow %q, want 405 with GET, HEAD", w.Code, w.Header().Get("Allow"))
		}
		head := httptest.NewRequest(http.MethodHead, "/", http.NoBody)
		head.Header.Set("X-User", "ann")
		w = httptest.NewRecorder()
		if h.ServeHTTP(w, head); w.Code != 200 {
			t.Errorf("HEAD gets %d, want 200", w.Code)
		}
	})
	t.Run("invalid arguments panic in TokenHandler", func(t *testing.T) {
		for name, build := range map[string]func(){
			"no tokens": func() { interlockhttp.TokenHandler(nil, "order", signedIn) },
			"no user":   func() { interlockhttp.TokenHandler(tokens, "order", nil) },
			"a bad status": func() {
				interlockhttp.TokenHandler(tokens, "order", signedIn, interlockhttp.Status(interlockhttp.UserMissing, 200))
			},
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("TokenHandler accepts %s, want a panic", name)
					}
				}()
				build()
			}()
		}
	})
}
