package interlockhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// Tests named TestTrap… prove rows of docs/traps.md that fit into no other test.

// TestTrapIdentity is about the user and the route of a key.
func TestTrapIdentity(t *testing.T) {
	t.Run("the border between user and key cannot be shifted", func(t *testing.T) {
		s := open(t, kept, nil)
		n := 0
		for _, c := range []struct{ user, key string }{
			{"a", "b:c"}, {"a:b", "c"}, {"a:b:c", "d"}, {"a", "b|c"}, {"a|b", "c"}, {"a", "{b}c"}, {"a{b}", "c"}, {"a%3Ab", "c"},
		} {
			n++
			s.serve(c.key, "x", as(c.user)).is(201, fmt.Sprintf("order %d of x", n))
		}
	})
	t.Run("by default a key used on another route is refused", func(t *testing.T) {
		s := open(t, kept, nil)
		s.serve("k-1", "x", at("/orders/7")).is(201, "order 1 of x")
		s.serve("k-1", "x").problem(422, interlockhttp.KeyReused)
		s.serve("k-1", "x", at("/orders/8")).problem(422, interlockhttp.KeyReused)
		s.serve("k-1", "x", at("/orders/7"), func(r *http.Request) { r.Method = http.MethodPatch }).problem(422, interlockhttp.KeyReused)
		s.ran(1)
	})
	t.Run("a key used on another host's route is refused", func(t *testing.T) {
		s := open(t, kept, nil)
		for _, host := range []string{"red.example", "blue.example"} {
			s.mux.Handle(host+"/orders", s.once.Wrap(s.handler))
		}
		onHost := func(host string) edit { return func(r *http.Request) { r.Host = host } }
		first := s.serve("k-1", "x", onHost("red.example")).is(201, "order 1 of x")
		s.serve("k-1", "x", onHost("blue.example")).problem(422, interlockhttp.KeyReused)
		s.serve("k-1", "x", onHost("red.example")).replays(first)
		s.ran(1)
	})
	t.Run("with PerRoute a key is free on another route, but not for another body on the same route", func(t *testing.T) {
		s := open(t, guard.Policy{Scope: guard.PerRoute}, nil)
		patch := func(r *http.Request) { r.Method = http.MethodPatch }
		s.serve("k-1", "x", at("/orders/7")).is(201, "order 1 of x")
		s.serve("k-1", "x").is(201, "order 2 of x")
		s.serve("k-1", "x", patch).is(201, "order 3 of x")
		s.serve("k-1", "x", at("/orders/8")).problem(422, interlockhttp.KeyReused)
		s.ran(3)
	})
	t.Run("without a pattern the path is the route", func(t *testing.T) {
		s := open(t, guard.Policy{Scope: guard.PerRoute}, nil)
		h := s.once.Wrap(s.handler)
		for i, path := range []string{"/orders/7", "/orders/8"} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, s.request("k-1", "x", at(path)))
			read(t, w.Result()).is(201, fmt.Sprintf("order %d of x", i+1))
		}
	})
	t.Run("two tenants with the same user name and key share no response", func(t *testing.T) {
		s := open(t, kept, nil, interlockhttp.User(func(r *http.Request) string {
			return r.Header.Get("X-Tenant") + "/" + r.Header.Get("X-User")
		}))
		red, blue := with("X-Tenant", "red"), with("X-Tenant", "blue")
		first := s.serve("k-1", "x", red).is(201, "order 1 of x")
		second := s.serve("k-1", "x", blue).is(201, "order 2 of x")
		s.serve("k-1", "x", red).replays(first)
		s.serve("k-1", "x", blue).replays(second)
		s.ran(2)
	})
	t.Run("headers that the client claims are not part of the key", func(t *testing.T) {
		type account struct{}
		s := open(t, kept, nil, interlockhttp.User(func(r *http.Request) string {
			user, _ := r.Context().Value(account{}).(string)
			return user
		}))
		signIn := func(user string) edit {
			return func(r *http.Request) { *r = *r.WithContext(context.WithValue(r.Context(), account{}, user)) }
		}
		claims := combine(with("X-User", "bob"), with("X-Forwarded-User", "blue"), with("Forwarded", "for=192.0.2.1"), with("Authorization", "Bearer of-bob"))
		first := s.serve("k-1", "x", signIn("ann")).is(201, "order 1 of x")
		s.serve("k-1", "x", signIn("ann"), claims).replays(first)
		s.serve("k-1", "x", signIn("bob")).is(201, "order 2 of x")
		s.serve("k-1", "x", claims).problem(401, interlockhttp.UserMissing)
	})
	t.Run("guessing another user's key reveals nothing, running or done", func(t *testing.T) {
		began, leave := make(chan struct{}), make(chan struct{})
		s := open(t, kept, nil)
		s.mux.Handle("/slow", s.once.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if signedIn(r) == "ann" {
				began <- struct{}{}
				<-leave
			}
			s.order(w, r)
		})))
		var done sync.WaitGroup
		done.Go(func() { s.serve("1", "x", at("/slow")) })
		<-began
		unused := s.serve("2", "guess", as("bob"), at("/slow")).is(201, "order 1 of guess")
		running := s.serve("1", "guess", as("bob"), at("/slow")).is(201, "order 2 of guess")
		close(leave)
		done.Wait()
		afterwards := s.serve("1", "guess", as("eve"), at("/slow")).is(201, "order 4 of guess")
		for _, a := range []response{running, afterwards} {
			if len(a.header) != len(unused.header) {
				t.Errorf("the header %v differs from that of an unused key, %v", a.header, unused.header)
			}
		}
	})
	t.Run("a user that may no longer sign in gets no replay", func(t *testing.T) {
		blocked := false
		s := open(t, kept, nil)
		behind := s.mux
		s.mux = http.NewServeMux()
		s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			if blocked {
				http.Error(w, "who are you?", http.StatusUnauthorized)
				return
			}
			behind.ServeHTTP(w, r)
		})
		first := s.serve("k-1", "x")
		s.serve("k-1", "x").replays(first)
		blocked = true
		s.serve("k-1", "x").is(401, "who are you?\n")
		s.ran(1)
	})
	t.Run("the same body of another user or under another key is not a duplicate", func(t *testing.T) {
		s := open(t, guard.Form(""), nil)
		s.serve("", "x").is(201, "order 1 of x")
		s.serve("", "x", as("bob")).is(201, "order 2 of x")
		o := open(t, kept, nil)
		o.serve("k-1", "x").is(201, "order 1 of x")
		o.serve("k-2", "x").is(201, "order 2 of x")
	})
}

// TestTrapGlobalKeys checks that keys are shared by all users only on request.
func TestTrapGlobalKeys(t *testing.T) {
	if _, err := interlockhttp.Once(interlock.New(nil), guard.Policy{Name: "orders"}); err == nil || !strings.Contains(err.Error(), "the user of a request is unknown") {
		t.Errorf("Once without User returns %v, want an error about the user", err)
	}
	m, err := interlockhttp.Once(interlock.New(nil), guard.Policy{Name: "orders", Scope: guard.Global})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	r.Header.Set("Idempotency-Key", "short")
	m.Wrap(http.NotFoundHandler()).ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest {
		t.Errorf("a short key is answered with %d, want 400", w.Code)
	}
}
