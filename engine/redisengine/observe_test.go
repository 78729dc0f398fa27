package redisengine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

func TestObservedCalls(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e, err := redisengine.Open(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var calls []engine.ServerCall
	stop := e.Capabilities().Observe(func(c engine.ServerCall) { calls = append(calls, c) })
	r := engine.Request{Key: "order:42", Holder: "h", Attempt: "1", Lease: time.Minute}
	if _, err := e.Acquire(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	stop()
	if _, err := e.Release(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if len(calls) != 1 || calls[0].Operation != "acquire" || calls[0].Node != s.Addr() || calls[0].Took <= 0 || calls[0].Err != nil || calls[0].Problem() != "" {
		t.Errorf("observed %+v, want one acquire on %s", calls, s.Addr())
	}
}

// Observers tell a server that does not answer from one that answers with an error.
func TestProblemsOfCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{io.EOF, "unavailable"},
		{os.ErrDeadlineExceeded, "timeout"},
		{context.DeadlineExceeded, "timeout"},
		{context.Canceled, ""}, // the caller gave up
		{&redisengine.NotSentError{Err: errors.New("connection refused")}, "unavailable"},
		{&redisengine.NotSentError{Err: fmt.Errorf("%w: pool timeout", engine.ErrOverloaded)}, "overloaded"},
		{redisengine.ReplyError("OOM command not allowed"), "full"},
		{redisengine.ReplyError("WRONGTYPE Operation against a key"), "refused"},
		{redisengine.ReplyError("LOADING Redis is loading"), "unavailable"},
		{redisengine.ReplyError("ERR user_script:3: attempt to index a nil value"), "other"},
	} {
		e := redisengine.On(broken{c.err})
		var got []engine.ServerCall
		e.Capabilities().Observe(func(c engine.ServerCall) { got = append(got, c) })
		_, _ = e.Release(t.Context(), engine.Request{Key: "order:42", Holder: "h", Attempt: "1", Lease: time.Minute})
		if len(got) == 0 || got[0].Problem() != c.want {
			t.Errorf("%v: observed %+v, want the problem %q", c.err, got, c.want)
		}
		for _, call := range got {
			if call.Err != nil && strings.Contains(call.Err.Error(), "order:42") {
				t.Errorf("the error %q contains a key", call.Err)
			}
		}
	}
}

func TestObservedServerBehindSentinels(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t)
	one, rest, _ := strings.Cut(s.URL(), ",") // a URL may name one of the sentinels
	_, path, _ := strings.Cut(rest, "/")
	e := openURL(t, one+"/"+path)
	var nodes []string
	defer e.Capabilities().Observe(func(call engine.ServerCall) { nodes = append(nodes, call.Node) })()
	granted(t, e, request(t, ann, "a"))
	if len(nodes) == 0 || strings.Contains(one, nodes[0]) && nodes[0] != "" {
		t.Errorf("the requests went to %q, want the primary or no name", nodes)
	}
}
