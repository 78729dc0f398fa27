package cases_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/cases"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/shop"
)

// newPlayer returns a player whose gateway is guard around the shop.
func newPlayer(t *testing.T, guard func(http.Handler) http.Handler) *cases.Player {
	t.Helper()
	goods := shop.New()
	p := cases.New(goods, interlock.New(nil))
	direct := httptest.NewServer(p.Observe(goods))
	t.Cleanup(direct.Close)
	guarded := httptest.NewServer(guard(p.Observe(goods)))
	t.Cleanup(guarded.Close)
	t.Cleanup(p.Close)
	p.SetURLs(direct.URL, guarded.URL)
	return p
}

// Every case detects a gateway that guards nothing, refuses everything or fails.
func TestEveryCaseDetectsAFaultyGateway(t *testing.T) {
	for name, guard := range map[string]func(http.Handler) http.Handler{
		"it guards nothing": func(h http.Handler) http.Handler { return h },
		"it refuses everything": func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusConflict)
				_, _ = w.Write([]byte(`{"type":"about:blank","status":409,"code":"in_progress"}`))
			})
		},
		"it fails": func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlayer(t, guard)
			for _, c := range cases.Cases() {
				if c.ID == "slow" || c.ID == "timeout" {
					continue // the same as fast, but slower
				}
				v, err := p.Run(t.Context(), c, false, func(cases.Event) {})
				if err != nil || v.OK {
					t.Errorf("%s: OK is %v, the error %v; want a failed verdict:\n%v", c.ID, v.OK, err, v.Findings)
				}
			}
		})
	}
}

func TestACancelledRunEnds(t *testing.T) {
	p := newPlayer(t, func(h http.Handler) http.Handler { return h })
	c, ok := cases.Find("slow")
	if !ok {
		t.Fatal("the case does not exist")
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := p.Run(ctx, c, true, func(cases.Event) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, want context.Canceled", err)
	}
}

// A client that sends the page's headers by itself is served as usual.
func TestObserveIgnoresUnknownRuns(t *testing.T) {
	goods := shop.New()
	h := cases.New(goods, interlock.New(nil)).Observe(goods)
	for _, number := range []string{"", "0", "-1", "99999999999999999999", "1"} {
		r := httptest.NewRequest(http.MethodGet, "/state", nil)
		r.Header.Set("X-Demo-Run", "none")
		r.Header.Set("X-Demo-Request", number)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Errorf("request %q: got %d, want 200", number, w.Code)
		}
	}
}
