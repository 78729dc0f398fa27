package snippets

import (
	"net/http"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// Window accepts one request and refuses repeats for two seconds. Check and set are one
// step: SET key value NX PX 2000.
func Window(client *interlock.Client, work http.Handler) (http.Handler, error) {
	one, err := interlockhttp.Submit(client,
		guard.Policy{Name: "submit", After: guard.Window, Window: 2 * time.Second, Scope: guard.Global},
		interlockhttp.Key(interlockhttp.JSONField("order")))
	if err != nil {
		return nil, err
	}
	return one.Wrap(work), nil
}
