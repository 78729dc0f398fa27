package interlockhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// TestLockWith covers the features of LockWith that a proxy uses: locks of any kind, and
// shadowed locks.
func TestLockWith(t *testing.T) {
	c := interlock.New(nil)
	write := func(id string) interlock.Locker { return c.RWMutex("pay:"+id, interlock.Wait(0)).Write() }
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	serve := func(h http.Handler, id string) int {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("x"))
		r.Header.Set("X-Id", id)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	_, hold, err := c.RWMutex("pay:7").Read().Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Unlock()

	t.Run("a writer is refused while a reader holds the lock", func(t *testing.T) {
		wrap, err := interlockhttp.LockWith(write, interlockhttp.Header("X-Id"))
		if err != nil {
			t.Fatal(err)
		}
		if got := serve(wrap(ok), "7"); got != http.StatusLocked {
			t.Errorf("the writer gets %d, want 423", got)
		}
		if got := serve(wrap(ok), "8"); got != http.StatusNoContent {
			t.Errorf("a writer with another key gets %d, want 204", got)
		}
	})
	t.Run("a request is refused if the caller's Locker returns only ErrContended", func(t *testing.T) {
		wrap, err := interlockhttp.LockWith(func(string) interlock.Locker { return alwaysHeld{} }, interlockhttp.Header("X-Id"))
		if err != nil {
			t.Fatal(err)
		}
		if got := serve(wrap(ok), "7"); got != http.StatusLocked {
			t.Errorf("the status is %d, want 423", got)
		}
	})
	t.Run("Shadow lets the writer pass and reports it", func(t *testing.T) {
		var seen []interlockhttp.Code
		wrap, err := interlockhttp.LockWith(write, interlockhttp.Header("X-Id"), interlockhttp.Shadow(func(s interlockhttp.Shadowed) {
			if s.Request == nil {
				t.Error("the report has no request")
			}
			seen = append(seen, s.Problem.Code)
		}))
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"7", "8", "8", ""} { // 8 twice: the first request releases its lock
			if got := serve(wrap(ok), id); got != http.StatusNoContent {
				t.Errorf("a request with the key %q gets %d, want 204", id, got)
			}
		}
		if len(seen) != 2 || seen[0] != interlockhttp.Locked || seen[1] != interlockhttp.KeyInvalid {
			t.Errorf("the reported codes are %v, want locked and key_invalid", seen)
		}
	})
	t.Run("Shadow leaves the body to the handler", func(t *testing.T) {
		wrap, err := interlockhttp.LockWith(write, interlockhttp.JSONField("id"), interlockhttp.Shadow(func(interlockhttp.Shadowed) {}))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{`{"id": "8"}`, `{"id": "7"}`, `{}`} {
			w := httptest.NewRecorder()
			wrap(echo).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(text)))
			if w.Body.String() != text {
				t.Errorf("the handler gets the body %q, want %q", w.Body, text)
			}
		}
	})
	t.Run("invalid options are refused", func(t *testing.T) {
		if _, err := interlockhttp.LockWith(nil, interlockhttp.Header("X-Id")); err == nil {
			t.Error("LockWith accepts a nil function, want an error")
		}
		if _, err := interlockhttp.LockWith(write, interlockhttp.Header("X-Id"), interlockhttp.Locking(interlock.Fair())); err == nil {
			t.Error("LockWith accepts Locking, want an error")
		}
	})
}

// alwaysHeld is a lock that another holder always has.
type alwaysHeld struct{ interlock.Locker }

func (alwaysHeld) Lock(ctx context.Context) (context.Context, *interlock.Hold, error) {
	return ctx, nil, fmt.Errorf("taken: %w", interlock.ErrContended)
}

func TestJoin(t *testing.T) {
	joined := interlockhttp.Join(func(r *http.Request, parts []string) (string, error) {
		if parts[0] == "bad" {
			return "half", errors.New("bad")
		}
		if parts[0] == "none" {
			return "", nil
		}
		return r.Method + "/" + strings.Join(parts, "/"), nil
	}, interlockhttp.Header("X-A"), interlockhttp.Header("X-B"))
	var keys []string
	wrap, err := interlockhttp.LockWith(func(id string) interlock.Locker {
		keys = append(keys, id)
		return interlock.New(nil).Mutex(id)
	}, joined)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"1", "2", 200}, {"1", "", 400}, {"", "2", 400}, {"bad", "2", 400}, {"none", "2", 400}} {
		r := httptest.NewRequest(http.MethodPut, "/", http.NoBody)
		if c.a != "" {
			r.Header.Set("X-A", c.a)
		}
		if c.b != "" {
			r.Header.Set("X-B", c.b)
		}
		w := httptest.NewRecorder()
		wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("the parts %q and %q get %d, want %d", c.a, c.b, w.Code, c.want)
		}
	}
	if len(keys) != 1 || keys[0] != "PUT/1/2" {
		t.Errorf("the keys are %q, want PUT/1/2 only", keys)
	}
	for name, source := range map[string]interlockhttp.Source{
		"without sources":    interlockhttp.Join(func(*http.Request, []string) (string, error) { return "", nil }),
		"without a function": interlockhttp.Join(nil, interlockhttp.Header()),
	} {
		if _, err := interlockhttp.Once(interlock.New(nil), guard.Policy{Name: "a", Scope: guard.Global}, interlockhttp.Key(source)); err == nil {
			t.Errorf("Once accepts a Join %s, want an error", name)
		}
	}
}
