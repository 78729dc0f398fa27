package snippets

import (
	"net/http"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// Once answers a payment that comes again, with the same Idempotency-Key, with
// the receipt of the first. While that runs: 409. The same key with another body: 422.
func Once(client *interlock.Client, pay http.Handler, user func(*http.Request) string) (http.Handler, error) {
	payments, err := interlockhttp.Once(client, guard.Charge("payment"), interlockhttp.User(user))
	if err != nil {
		return nil, err
	}
	return payments.Wrap(pay), nil
}
