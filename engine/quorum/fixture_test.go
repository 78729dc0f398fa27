package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
)

const lease = 10 * time.Second

// request returns a request for the lock of most tests.
func request(holder string) engine.Request {
	return engine.Request{Key: "k", Holder: holder + ":1", Attempt: holder + "-1", Lease: lease}
}

func fenced(r engine.Request) engine.Request { r.Fenced, r.FenceReserve = true, 8; return r }

func repeated(r engine.Request) engine.Request { r.Retry = true; return r }

// granted requires a grant, and waits for the nodes outside the majority.
func granted(t testing.TB, e engine.Engine, r engine.Request) engine.Grant {
	t.Helper()
	g, err := e.Acquire(context.Background(), r)
	synctest.Wait()
	if err != nil {
		t.Fatalf("acquire for %s: %v, want a grant", r.Holder, err)
	}
	return g
}

func busy(t testing.TB, e engine.Engine, r engine.Request) *engine.BusyError {
	t.Helper()
	g, err := e.Acquire(context.Background(), r)
	var b *engine.BusyError
	if !errors.As(err, &b) {
		t.Fatalf("acquire for %s: %+v, %v; want a *engine.BusyError", r.Holder, g, err)
	}
	return b
}

func refused(t testing.TB, e engine.Engine, r engine.Request, want error) error {
	t.Helper()
	g, err := e.Acquire(context.Background(), r)
	synctest.Wait()
	if !errors.Is(err, want) {
		t.Fatalf("acquire for %s: %+v, %v; want %v", r.Holder, g, err, want)
	}
	return err
}

func renewed(t testing.TB, e engine.Engine, r engine.Request, want error) {
	t.Helper()
	if err := e.Renew(context.Background(), []engine.Request{r})[0]; !errors.Is(err, want) {
		t.Fatalf("renew for %s: %v, want %v", r.Holder, err, want)
	}
}

func released(t testing.TB, e engine.Engine, r engine.Request) {
	t.Helper()
	if p, err := e.Release(context.Background(), r); err != nil || p.Outcome != engine.Released {
		t.Fatalf("release for %s: %v, %v; want %v", r.Holder, p.Outcome, err, engine.Released)
	}
}

// holder returns the holder at one node.
func holder(t testing.TB, e engine.Engine) string {
	t.Helper()
	l, err := e.Capabilities().Inspector.Inspect(context.Background(), "k")
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Holders) == 0 {
		return ""
	}
	return l.Holders[0].Name
}

// A server is a node that can be restarted without its data, and can be made to
// fail.
type server struct {
	*enginetest.Faulty
	inner *rebooting

	faulty, rebooted bool // used by world.injectFaults
}

func newServer() *server {
	inner := &rebooting{connections: 1, Engine: memory.New()}
	return &server{Faulty: enginetest.NewFaulty(inner), inner: inner}
}

// servers returns n nodes that are past their probation.
func servers(n int) (all []*server, nodes []engine.Engine) {
	for range n {
		s := newServer()
		all, nodes = append(all, s), append(nodes, s)
	}
	time.Sleep(time.Hour)
	return all, nodes
}

// all injects a fault into every lock call.
func (s *server) all(f enginetest.Fault) {
	for _, f.Op = range []enginetest.Op{enginetest.OpAcquire, enginetest.OpRenew, enginetest.OpRelease, enginetest.OpAbandon,
		enginetest.OpRaise, enginetest.OpIncarnation, enginetest.OpInspect, enginetest.OpForceRelease, enginetest.OpProbe} {
		s.Inject(f)
	}
}

func (s *server) die()    { s.all(enginetest.Fault{Do: enginetest.Refuse}) }
func (s *server) hang()   { s.all(enginetest.Fault{Do: enginetest.Hang}) }
func (s *server) reboot() { s.inner.reboot() }

// rebooting is an engine that can be replaced by a new one.
type rebooting struct {
	mu          sync.Mutex
	connections uint64
	engine.Engine
}

func (r *rebooting) reboot() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Engine = memory.New()
	r.connections++
}

func (r *rebooting) now() engine.Engine {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Engine
}

func (r *rebooting) Acquire(ctx context.Context, q engine.Request) (engine.Grant, error) {
	return r.now().Acquire(ctx, q)
}
func (r *rebooting) Renew(ctx context.Context, qs []engine.Request) []error {
	return r.now().Renew(ctx, qs)
}
func (r *rebooting) Release(ctx context.Context, q engine.Request) (engine.ReleaseResult, error) {
	return r.now().Release(ctx, q)
}
func (r *rebooting) Abandon(ctx context.Context, q engine.Request) (engine.ReleaseResult, error) {
	return r.now().Abandon(ctx, q)
}
func (r *rebooting) Raise(ctx context.Context, q engine.Request, fence uint64) error {
	return r.now().Capabilities().Fencer.Raise(ctx, q, fence)
}
func (r *rebooting) Incarnation(ctx context.Context) (engine.Incarnation, error) {
	return r.now().Capabilities().Incarnations.Incarnation(ctx)
}

func (r *rebooting) Connections() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.connections
}

func (r *rebooting) Capabilities() engine.Capabilities {
	return engine.Capabilities{Fencer: r, Incarnations: r, Inspector: r.now().Capabilities().Inspector}
}

// kill stops the first n servers.
func kill(all []*server, n int) {
	for _, s := range all[:n] {
		s.die()
	}
}

func name(i int) string { return fmt.Sprintf("holder%d", i) }
