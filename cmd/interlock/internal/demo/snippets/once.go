package snippets

import (
	"net/http"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// Once answers a repeated Idempotency-Key with the first receipt. While the first payment
// runs, the answer is 409. The same key with another body gets 422.
func Once(client *interlock.Client, pay http.Handler, user func(*http.Request) string) (http.Handler, error) {
	payments, err := interlockhttp.Once(client, guard.Charge("payment"), interlockhttp.User(user))
	if err != nil {
		return nil, err
	}
	return payments.Wrap(pay), nil
}
