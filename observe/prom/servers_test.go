package prom_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/observe/prom"
)

// An observed engine reports the requests that a test makes up.
type observed struct {
	*memory.Engine
	report func(engine.ServerCall)
}

func (o *observed) Capabilities() engine.Capabilities {
	c := o.Engine.Capabilities()
	c.Observe = func(f func(engine.ServerCall)) func() {
		o.report = f
		return func() {}
	}
	return c
}

func TestErrorsOfServers(t *testing.T) {
	for _, c := range []struct {
		what string
		err  error
		word string // empty: no error of the server
		up   int
	}{
		{"a server that cannot be reached is down", engine.ErrUnavailable, "unavailable", 0},
		{"a server without an answer is down", engine.ErrUnknown, "unavailable", 0},
		{"a server that answers too late for the caller is down", errors.Join(engine.ErrUnknown, context.DeadlineExceeded), "timeout", 0},
		{"a server that answers too late for the engine is down", errors.Join(engine.ErrUnknown, os.ErrDeadlineExceeded), "timeout", 0},
		{"a server that accepts no more connections answers", engine.ErrOverloaded, "overloaded", 1},
		{"a full server answers", engine.ErrFull, "full", 1},
		{"a key of another kind is an answer", engine.ErrKind, "refused", 1},
		{"a caller that gives up says nothing about the server", errors.Join(engine.ErrUnknown, context.Canceled), "", 1},
	} {
		t.Run(c.what, func(t *testing.T) {
			e := &observed{Engine: memory.New()}
			collector := prom.New(interlock.New(e))
			for _, operation := range []string{"first", "acquire"} {
				e.report(engine.ServerCall{Operation: operation, Node: "a:1", Took: time.Millisecond, Err: c.err})
			}
			text := scrape(t, collector)
			wantLines(t, text, fmt.Sprintf(`interlock_engine_up{node="a:1"} %d`, c.up), `interlock_engine_request_seconds_count{node="a:1",operation="acquire"} 1`)
			for _, word := range []string{"unavailable", "timeout", "overloaded", "full", "refused", "other"} {
				n := strings.Count(c.word, word)
				wantLines(t, text, fmt.Sprintf(`interlock_engine_errors_total{error=%q,node="a:1",operation="acquire"} %d`, word, n))
			}
		})
	}
}
