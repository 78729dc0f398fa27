package snippets

import (
	"net/http"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// Click ignores double clicks: the preset refuses repeats within a second. Keys are
// scoped to the signed-in user.
func Click(client *interlock.Client, order http.Handler, user func(*http.Request) string) (http.Handler, error) {
	one, err := interlockhttp.Submit(client, guard.Click("order"),
		interlockhttp.User(user), interlockhttp.Key(interlockhttp.JSONField("cart")))
	if err != nil {
		return nil, err
	}
	return one.Wrap(order), nil
}
