package snippets

import (
	"net/http"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// Free refuses repeats only while the first request is running. The guard renews its
// lease, which only limits how long a crashed process blocks others.
func Free(client *interlock.Client, work http.Handler) (http.Handler, error) {
	one, err := interlockhttp.Submit(client,
		guard.Policy{Name: "task", After: guard.Free, Lease: 2 * time.Second, Scope: guard.Global},
		interlockhttp.Key(interlockhttp.JSONField("order")))
	if err != nil {
		return nil, err
	}
	return one.Wrap(work), nil
}
