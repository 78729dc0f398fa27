package interlockhttp_test

import (
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// TestConstruction checks that invalid options are refused, with every mistake.
func TestConstruction(t *testing.T) {
	user := interlockhttp.User(signedIn)
	tokens, err := guard.NewTokens(time.Hour, make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	for name, build := range map[string]func(*interlock.Client) (*interlockhttp.Middleware, error){
		"no user": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"})
		},
		"Once with a window": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Form("a"), user)
		},
		"Submit with Keep": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Submit(c, guard.Policy{Name: "a"}, user)
		},
		"a policy without a name": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{}, user)
		},
		"guarding GET": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.Methods("GET"))
		},
		"a maximum body of zero": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.MaxBody(0))
		},
		"a maximum response of zero": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.MaxResponse(0))
		},
		"a negative body timeout": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.BodyTimeout(-1))
		},
		"a short secret": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.Secrets([]byte("short")))
		},
		"a problem with a success status": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.Status(interlockhttp.InProgress, 200))
		},
		"a minimum key above the limit": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.MinKey(256))
		},
		"a nil Shadow": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.Shadow(nil))
		},
		"no tokens": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.WithTokens(nil, "form"))
		},
		"an empty source": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.Key(interlockhttp.Source{}))
		},
		"a nil function": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.Key(interlockhttp.Func(nil)))
		},
		"Each without sources": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.Key(interlockhttp.Each()))
		},
		"Each with an empty source": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.Key(interlockhttp.Each(interlockhttp.Header(), interlockhttp.Source{})))
		},
		"a field without a name": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.Key(interlockhttp.Header("")))
		},
		"a method in lower case": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.Methods("post"))
		},
		"no methods": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.Methods([]string{}...))
		},
		"a cookie without a name": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.Key(interlockhttp.Cookie("")))
		},
		"a part of the path without a name": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.Key(interlockhttp.PathValue("")))
		},
		"a part of the query without a name": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.Key(interlockhttp.Query("")))
		},
		"a field of a form without a name": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.Key(interlockhttp.FormField("")))
		},
		"a member without a name": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.Key(interlockhttp.JSONField("")))
		},
		"a maximum response above the limit": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.MaxResponse(math.MaxInt))
		},
		"lock options": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.Locking(interlock.Wait(1)))
		},
		"guarding HEAD": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.Methods("HEAD"))
		},
		"guarding OPTIONS": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.Methods("OPTIONS"))
		},
		"guarding TRACE": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.Methods("TRACE"))
		},
		"a method with a space": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.Methods("PO ST"))
		},
		"a minimum key of zero": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.MinKey(0))
		},
		"a body timeout of zero": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.BodyTimeout(0))
		},
		"an older secret that is short": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.Secrets(make([]byte, 32), []byte("short")))
		},
		"a problem with status 1000": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a"}, user, interlockhttp.Status(interlockhttp.InProgress, 1000))
		},
		"tokens for Submit": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Submit(c, guard.Form("a"), user, interlockhttp.WithTokens(tokens, "form"))
		},
		"tokens without a user": func(c *interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(c, guard.Policy{Name: "a", Scope: guard.Global}, interlockhttp.WithTokens(tokens, "form"))
		},
		"no client": func(*interlock.Client) (*interlockhttp.Middleware, error) {
			return interlockhttp.Once(nil, guard.Policy{Name: "a"}, user)
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := build(interlock.New(nil))
			if err == nil || m != nil {
				t.Error("the constructor accepts it, want an error")
			}
			defer func() {
				if recover() == nil {
					t.Error("Must did not panic")
				}
			}()
			interlockhttp.Must(m, err)
		})
	}
}

// TestWriteProblem checks that a service may choose statuses and texts.
func TestWriteProblem(t *testing.T) {
	s := open(t, kept, nil,
		interlockhttp.Status(interlockhttp.KeyReused, 409), interlockhttp.Docs("https://example.com/errors"),
		interlockhttp.Message(interlockhttp.KeyReused, guard.Message{"en": "no", "zh": "不"}))
	s.serve("k-1", "x")
	p := s.serve("k-1", "y", with("Accept-Language", "zh")).problem(409, interlockhttp.KeyReused)
	if p.Detail != "不" || p.Type != "https://example.com/errors#key_reused" {
		t.Errorf("the problem is %+v", p)
	}
	s = open(t, kept, nil, interlockhttp.WriteProblem(func(w http.ResponseWriter, _ *http.Request, p *interlockhttp.Problem) {
		w.WriteHeader(p.Status)
		_, _ = w.Write([]byte("mine: " + p.Code))
	}))
	s.serve("", "x").is(400, "mine: key_invalid")
}

// TestWrapNil checks that a nil handler panics at set-up, not in the first request, whose
// outcome would be unknown.
func TestWrapNil(t *testing.T) {
	client := interlock.New(nil)
	once := interlockhttp.Must(interlockhttp.Once(client, guard.Charge("a"), interlockhttp.User(signedIn)))
	locked, err := interlockhttp.Lock(client, "a", interlockhttp.Query("id"))
	if err != nil {
		t.Fatal(err)
	}
	for name, wrap := range map[string]func(http.Handler) http.Handler{"Once": once.Wrap, "Lock": locked} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s wraps a nil handler, want a panic", name)
				}
			}()
			wrap(nil)
		}()
	}
}

// TestMaxResponse checks that a response of exactly the limit is kept, with its header.
func TestMaxResponse(t *testing.T) {
	s := open(t, kept, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Note", strings.Repeat("x", 1000))
		_, _ = io.Copy(w, r.Body)
	}, interlockhttp.MaxResponse(10))
	first := s.serve("k-1", "1234567890").is(200, "1234567890")
	s.serve("k-1", "1234567890").replays(first)
	s.serve("k-2", "12345678901").is(200, "12345678901")
	s.serve("k-2", "12345678901").problem(409, interlockhttp.ResultUnavailable)
}

// TestAllow checks that Allow decides whether a repeat gets the response.
func TestAllow(t *testing.T) {
	allowed := true
	s := open(t, kept, nil, interlockhttp.Allow(func(_ *http.Request, r *interlockhttp.Response) bool { return allowed && r.Status == 201 }))
	first := s.serve("k-1", "x")
	s.serve("k-1", "x").replays(first)
	allowed = false
	if p := s.serve("k-1", "x").problem(409, interlockhttp.ResultUnavailable); p.OriginalStatus != 0 {
		t.Errorf("the problem is %+v", p)
	}
	s.ran(1)
	t.Run("Allow decides about a response of which only the Location was kept", func(t *testing.T) {
		s := open(t, kept, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/orders/1")
			_ = http.NewResponseController(w).Flush()
		}, interlockhttp.Allow(func(*http.Request, *interlockhttp.Response) bool { return false }))
		s.serve("k-1", "x")
		a := s.serve("k-1", "x")
		if p := a.problem(409, interlockhttp.ResultUnavailable); p.OriginalStatus != 0 || a.header.Get("Location") != "" {
			t.Errorf("the problem is %+v with the header %v", p, a.header)
		}
	})
}
