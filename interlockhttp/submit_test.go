package interlockhttp_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

func TestSubmit(t *testing.T) {
	t.Run("L9 a repeat within the window is refused, with the seconds left", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, guard.Form(""), nil)
			s.serve("", "x").is(201, "order 1 of x")
			time.Sleep(1500 * time.Millisecond)
			a := s.serve("", "x", with("Accept-Language", "zh-CN"))
			p := a.problem(429, interlockhttp.Duplicate)
			if got := a.header.Get("Retry-After"); got != "4" || p.RetryAfter != 3500 || !strings.HasPrefix(p.Detail, "该操作刚刚已经提交过，请勿重复提交") {
				t.Errorf("the problem is %+v with Retry-After %s, want 4", p, got)
			}
			s.serve("", "y").is(201, "order 2 of y")
			s.serve("", "x", as("bob")).is(201, "order 3 of x")
			time.Sleep(3500 * time.Millisecond)
			s.serve("", "x").is(201, "order 4 of x")
		})
	})
	t.Run("L9 the policy sets the status and the message", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := guard.Form("")
			p.Status, p.Message = 418, guard.Message{"en": "easy", "zh": "慢点"}
			s := open(t, p, nil)
			s.serve("", "x")
			if got := s.serve("", "x", with("Accept-Language", "zh")).problem(418, interlockhttp.Duplicate); got.Detail != "慢点" {
				t.Errorf("the detail is %q, want the message of the policy", got.Detail)
			}
		})
	})
	t.Run("L5 without a window the next request is accepted when the first is done", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, guard.Policy{After: guard.Free}, nil)
			slow := s.once.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(time.Second)
				s.order(w, r)
			}))
			s.mux = http.NewServeMux()
			s.mux.Handle("/orders", slow)
			var done sync.WaitGroup
			done.Go(func() { s.serve("", "x").is(201, "order 1 of x") })
			time.Sleep(time.Second / 2)
			if p := s.serve("", "x").problem(429, interlockhttp.InProgress); p.SameKey {
				t.Error("same_key is true, so a client would retry by itself, and the order would run twice")
			}
			done.Wait()
			s.serve("", "x").is(201, "order 2 of x")
		})
	})
	t.Run("a form that was refused may be corrected and sent again", func(t *testing.T) {
		s := open(t, guard.Form(""), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) })
		s.serve("", "x").is(400, "")
		s.serve("", "x").is(400, "")
	})
	t.Run("Fingerprint may parse the form, and the handler still gets it", func(t *testing.T) {
		const form = "application/x-www-form-urlencoded"
		item := func(r *http.Request) string { return r.FormValue("item") }
		for name, opt := range map[string]interlockhttp.Option{
			"in the fingerprint": interlockhttp.Fingerprint(func(r *http.Request, _ []byte) []byte { return []byte(item(r)) }),
			"in a joined key": interlockhttp.Key(interlockhttp.Join(func(r *http.Request, parts []string) (string, error) {
				return item(r) + " " + parts[0], nil
			}, interlockhttp.FormField("size"))),
		} {
			t.Run(name, func(t *testing.T) {
				s := open(t, guard.Form(""), func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, item(r)) }, opt)
				s.serve("", "", body("item=shoes&size=9&at=1", form)).is(200, "shoes")
				s.serve("", "", body("item=hats&size=9&at=1", form)).is(200, "hats")
				s.serve("", "", body("item=hats&size=9&at=2", form)).problem(429, interlockhttp.Duplicate)
			})
		}
	})
	t.Run("responses of Submit are sent at once, without Idempotency-Stored", func(t *testing.T) {
		s := open(t, guard.Form(""), func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
			_, _ = w.Write(make([]byte, 2<<20))
		})
		if a := s.post("", "x"); len(a.body) != 2<<20 || a.header.Get("Idempotency-Stored") != "" {
			t.Errorf("the response has %d bytes with the header %v, want 2 MiB without Idempotency-Stored", len(a.body), a.header)
		}
	})
}
