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

// stage returns a player whose gateway is what guard makes of the shop.
func stage(t *testing.T, guard func(http.Handler) http.Handler) *cases.Player {
	t.Helper()
	goods := shop.New()
	p := cases.New(goods, interlock.New(nil))
	direct := httptest.NewServer(p.Door(goods))
	t.Cleanup(direct.Close)
	guarded := httptest.NewServer(guard(p.Door(goods)))
	t.Cleanup(guarded.Close)
	t.Cleanup(p.Close)
	p.At(direct.URL, guarded.URL)
	return p
}

// A gateway that does nothing, or too much, is found out by every case.
func TestACarelessGatewayIsFoundOut(t *testing.T) {
	for name, guard := range map[string]func(http.Handler) http.Handler{
		"it lets everybody in": func(h http.Handler) http.Handler { return h },
		"it lets nobody in": func(http.Handler) http.Handler {
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
			p := stage(t, guard)
			for _, c := range cases.Cases() {
				if c.ID == "slow" || c.ID == "timeout" {
					continue // as fast is, and slower
				}
				v, err := p.Run(t.Context(), c, false, func(cases.Event) {})
				if err != nil || v.OK {
					t.Errorf("%s: right %v, %v:\n%v", c.ID, v.OK, err, v.Findings)
				}
			}
		})
	}
}

func TestARunThatNobodyWatchesEnds(t *testing.T) {
	p := stage(t, func(h http.Handler) http.Handler { return h })
	c, ok := cases.Find("slow")
	if !ok {
		t.Fatal("there is no such case")
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := p.Run(ctx, c, true, func(cases.Event) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v, want context.Canceled", err)
	}
}

// Somebody with curl may call the shop by the page's own headers, and does no
// harm with them.
func TestTheDoorKnowsWhoItDoesNotKnow(t *testing.T) {
	goods := shop.New()
	h := cases.New(goods, interlock.New(nil)).Door(goods)
	for _, who := range []string{"", "0", "-1", "99999999999999999999", "1"} {
		r := httptest.NewRequest(http.MethodGet, "/state", nil)
		r.Header.Set("X-Demo-Run", "none")
		r.Header.Set("X-Demo-Who", who)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Errorf("%q: %d", who, w.Code)
		}
	}
}
