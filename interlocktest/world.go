package interlocktest

import (
	"context"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
)

// A World is an engine in this process that fails on command, and the clients on
// it. Each client is like a process of its own.
type World struct {
	t       testing.TB
	memory  *memory.Engine
	faulty  *enginetest.Faulty
	clients []*interlock.Client
}

// New returns a World in which nothing goes wrong yet. What it starts ends with
// the test.
func New(t testing.TB) *World {
	m := memory.New()
	w := &World{t: t, memory: m, faulty: enginetest.NewFaulty(m)}
	t.Cleanup(w.end)
	return w
}

// Engine returns the engine, for those who make their own clients. They close
// them before the test ends.
func (w *World) Engine() engine.Engine { return w.faulty }

// Client returns a client on the engine, as another process would have it. It is
// closed when the test ends; locks that are held then are an error of the test.
func (w *World) Client(opts ...interlock.Option) *interlock.Client {
	c := interlock.New(w.faulty, opts...)
	w.clients = append(w.clients, c)
	return c
}

// patience is how long the end of a test waits for locks to be released.
const patience = time.Second

// end closes what there is, and says what the test has left behind.
func (w *World) end() {
	w.faulty.Heal()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, c := range w.clients {
		if err := c.Close(ctx); err != nil {
			w.t.Errorf("interlocktest: at the end of the test: %v", err)
		}
	}
	w.faulty.Wait()
}
