package main_test

import (
	"net/http"
	"testing"

	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// Requirement T13: a gateway runs on a standby or a quorum, and refuses unsupported rules.
func TestServeEngines(t *testing.T) {
	t.Parallel()
	o := startService(t)
	a, b, c := redistest.Start(t), redistest.Start(t), redistest.Start(t)
	const rest = "listen: 127.0.0.1:0\nto: %[1]s\nprincipal: none\nadmin: 127.0.0.1:0\n"
	t.Run("an operator switches to the standby", func(t *testing.T) {
		t.Parallel()
		g := startGateway(t, "serve", "--config", file(t, "engine: {standby: [%[2]s, %[3]s]}\n"+rest+serviceRules, o.URL, a.URL(), b.URL()))
		g.post("/orders", "an-order-on-the-primary").want(t, 201)
		g.get(g.admin+"/api/v1/standby").want(t, 200, `"side":"primary"`)
		ask(t, http.MethodPost, g.admin+"/api/v1/standby/switch", "", `{"to":"standby","reason":"a test"}`).want(t, 200, `"side":"standby"`)
	})
	t.Run("a quorum starts with an unreachable node, and grants nothing while its other nodes are too new to vote", func(t *testing.T) {
		t.Parallel()
		b, c := redistest.Start(t), redistest.Start(t) // new servers do not vote for a minute; see package quorum
		g := startGateway(t, "serve", "--config", file(t, "engine: {quorum: [%[2]s, %[3]s, %[4]s]}\n"+rest+
			"rules:\n  - match: POST /orders\n    lock: orders\n    lease: 1s\n", o.URL, b.URL(), c.URL(), "redis://127.0.0.1:1"))
		g.post("/orders", "").want(t, 503, "store_unavailable")
		if n := o.ran(""); n != 0 {
			t.Errorf("the request ran %d times without a lock", n)
		}
	})
	t.Run("rules that the engine does not support are reported at the start", func(t *testing.T) {
		t.Parallel()
		name := file(t, "engine: {quorum: [%[2]s, %[3]s, %[4]s]}\n"+rest+serviceRules, o.URL, a.URL(), b.URL(), c.URL())
		start(t, nil, "serve", "--config", name).expect(t, 1, "order", "quorum")
	})
}
