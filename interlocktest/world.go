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

// A World is an in-process engine that fails on command, with its clients. Each client is
// like a process of its own.
type World struct {
	t       testing.TB
	memory  *memory.Engine
	faulty  *enginetest.Faulty
	clients []*interlock.Client
}

// New returns a World without faults. It is closed when the test ends.
func New(t testing.TB) *World {
	m := memory.New()
	w := &World{t: t, memory: m, faulty: enginetest.NewFaulty(m)}
	t.Cleanup(w.end)
	return w
}

// Engine returns the engine, for tests that make their own clients. Such a test must close
// those clients itself.
func (w *World) Engine() engine.Engine { return w.faulty }

// Client returns a client of the engine, as in a process of its own. It is closed when the
// test ends; a lock that is still held then fails the test.
func (w *World) Client(opts ...interlock.Option) *interlock.Client {
	c := interlock.New(w.faulty, opts...)
	w.clients = append(w.clients, c)
	return c
}

// closeTimeout is how long the end of a test waits for locks and claims.
const closeTimeout = time.Second

// end closes all clients, and fails the test for locks that are still held.
func (w *World) end() {
	w.faulty.Heal()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	for _, c := range w.clients {
		if err := c.Close(ctx); err != nil {
			w.t.Errorf("interlocktest: at the end of the test: %v", err)
		}
	}
	w.faulty.Wait()
}
