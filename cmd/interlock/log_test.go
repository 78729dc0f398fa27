package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/interlock-go/interlock/gateway/admin"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// lines returns the log records with all given attributes, such as "component", "locks".
func (g *gateway) lines(attrs ...string) (found []map[string]any) {
	scan := bufio.NewScanner(strings.NewReader(g.stderr.String()))
	for scan.Scan() {
		var record map[string]any
		if json.Unmarshal(scan.Bytes(), &record) != nil {
			continue
		}
		match := true
		for i := 0; i < len(attrs); i += 2 {
			match = match && fmt.Sprint(record[attrs[i]]) == attrs[i+1]
		}
		if match {
			found = append(found, record)
		}
	}
	return found
}

const namespaceHead = "namespace: shop\n" + serviceHead

// An operator finds a record by the same id in the log, in the admin API and by the command.
func TestTheIDOfARecordIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	o, s := startService(t), redistest.Start(t)
	name := file(t, strings.Replace(namespaceHead, "memory", s.URL(), 1)+serviceRules+"log: {level: debug}\n", o.URL)
	g := startGateway(t, "serve", "--config", name)
	g.post("/orders", "order-0123456789abcdef").want(t, 201)
	g.post("/orders", "order-0123456789abcdef").want(t, 201)

	var claims admin.Claims
	text := g.get(g.admin+"/api/v1/claims").want(t, 200).text
	if err := json.Unmarshal([]byte(text), &claims); err != nil || len(claims.Claims) != 1 {
		t.Fatalf("the API lists %s (%v), want one record", text, err)
	}
	id := claims.Claims[0].ID
	start(t, nil, "key", "get", id, "--namespace", "shop", "--engine", s.URL()).expect(t, 0, id, "done")
	start(t, nil, "key", "ls", "--namespace", "shop", "--engine", s.URL()).expect(t, 0, id)
	for _, line := range [][]string{
		{"component", "guards", "name", "order", "verdict", "granted"},
		{"component", "guards", "name", "order", "ending", "completed"},
		{"component", "guards", "name", "order", "verdict", "replayed"},
		{"component", "gateway", "name", "order", "outcome", "ran"},
		{"component", "gateway", "name", "order", "outcome", "replayed"},
	} {
		await(t, fmt.Sprintf("the log has %q with the id %s", line, id), func() bool { return len(g.lines(append(line, "key", id)...)) == 1 })
	}
	if len(g.lines("component", "engine", "msg", "engine: request", "operation", "claim")) == 0 {
		t.Error("the log has no request to the engine")
	}
	if strings.Contains(g.stderr.String(), "order-0123456789abcdef") {
		t.Error("the log has an idempotency key")
	}
}

// The levels of the log change by the file, by SIGHUP and by the admin API.
func TestLogLevels(t *testing.T) {
	t.Parallel()
	o := startService(t)
	name := file(t, serviceHead+serviceRules+"log: {level: info, components: {guards: debug}}\n", o.URL)
	g := startGateway(t, "serve", "--config", name)
	granted := func() int { return len(g.lines("component", "guards", "verdict", "granted")) }
	served := func() int { return len(g.lines("component", "gateway", "outcome", "ran")) }
	key := 0
	post := func() {
		key++
		g.post("/orders", fmt.Sprintf("order-0123456789-%d", key)).want(t, 201)
	}
	levels := func(words ...string) { g.get(g.admin+"/api/v1/log-levels").want(t, 200, words...) }
	put := func(levels string) {
		ask(t, http.MethodPut, g.admin+"/api/v1/log-levels", "", `{"reason":"a test","levels":`+levels+`}`).want(t, 200)
	}

	levels(`"guards":"debug"`, `"gateway":"info"`)
	post()
	await(t, "the check is logged", func() bool { return granted() == 1 })
	if n := served(); n != 0 {
		t.Errorf("%d successful requests are logged at level info", n)
	}

	put(`{"guards":"info","gateway":"debug"}`)
	post()
	await(t, "the request is logged", func() bool { return served() == 1 })
	if n := granted(); n != 1 {
		t.Errorf("%d checks are logged after the change, want 1", n)
	}

	g.reload(200) // the section log is the same
	levels(`"guards":"info"`, `"gateway":"debug"`)
	write(t, name, serviceHead+serviceRules+"log: {level: error, components: {locks: debug}}\n", o.URL)
	if err := g.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	await(t, "the levels of the file are in use", func() bool {
		return strings.Contains(g.get(g.admin+"/api/v1/log-levels").text, `"gateway":"error"`)
	})
	levels(`"default":"error"`, `"engine":"error"`, `"gateway":"error"`, `"guards":"error"`, `"locks":"debug"`)
}
