//go:build !race

package interlockfiber_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/timeout"

	"github.com/interlock-go/interlock/adapter/fiber"
	"github.com/interlock-go/interlock/interlockhttp"
)

// A handler continues after fiber's timeout has answered, so the outcome is unknown. fiber's
// timeout itself has data races with the handler.
func TestTimeout(t *testing.T) {
	deadline := timeout.Config{Timeout: 50 * time.Millisecond}
	next := func(c fiber.Ctx) error { return c.Next() }
	for what, handlers := range map[string]func(guard fiber.Handler) []any{
		"outside": func(guard fiber.Handler) []any { return []any{timeout.New(guard, deadline)} },
		"inside":  func(guard fiber.Handler) []any { return []any{guard, timeout.New(next, deadline)} },
	} {
		t.Run(what, func(t *testing.T) {
			app := fiber.New()
			open, done := make(chan struct{}), make(chan struct{}, 2)
			all := append(handlers(interlockfiber.Wrap(orders(t))), func(c fiber.Ctx) error {
				defer func() { done <- struct{}{} }()
				<-open
				return c.SendString("done")
			})
			app.Post("/orders", all[0], all[1:]...)
			url := start(t, app)
			if r, text, err := send(t, "POST", url+"/orders", nil); err != nil || r.StatusCode != http.StatusRequestTimeout {
				t.Errorf("first: got %v %q (%v)", r, text, err)
			}
			close(open)
			<-done
			for {
				r, text, err := send(t, "POST", url+"/orders", nil)
				if err == nil && strings.Contains(text, string(interlockhttp.InProgress)) {
					continue
				}
				if err != nil || !strings.Contains(text, string(interlockhttp.OutcomeUnknown)) {
					t.Errorf("again: got %v %q (%v)", r, text, err)
				}
				return
			}
		})
	}
}
