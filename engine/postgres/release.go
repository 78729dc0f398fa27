package postgres

import (
	"context"

	"github.com/interlock-go/interlock/engine"
)

// Release implements [engine.Engine].
func (e *Engine) Release(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	return e.release(ctx, "release", &r, 0)
}

// Abandon implements [engine.Engine].
func (e *Engine) Abandon(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	return e.release(ctx, "abandon", &r, micros(r.Lease))
}

// outcomes are the codes of the functions release and settle.
var outcomes = map[int64]engine.Outcome{1: engine.Released, 2: engine.AlreadyFree, 3: engine.NotYours}

// release ends a hold. If tombstone is positive, it also abandons the attempt: the server
// refuses it for that many µs.
func (e *Engine) release(ctx context.Context, name string, r *engine.Request, tombstone int64) (engine.ReleaseResult, error) {
	if err := e.usable(ctx); err != nil {
		return engine.ReleaseResult{}, err
	}
	if err := checkRequest(r); err != nil {
		return engine.ReleaseResult{}, err
	}
	s := e.call("release", r.Key, []byte(r.Key), int64(r.Kind), []byte(r.Holder), []byte(r.Attempt), tombstone, e.wait())
	s.name = name
	var code, entries, listeners int64
	if err := e.row(ctx, s, &code, &entries, &listeners); err != nil {
		return engine.ReleaseResult{}, err
	}
	if code == codeLocked {
		return engine.ReleaseResult{}, lockedError(s)
	}
	// Do not count this process if its subscription has outlived its last waiter.
	if listeners > 0 && e.notices.idle(topic("l0", r.Key)) {
		listeners--
	}
	return engine.ReleaseResult{Outcome: outcomes[code], Count: int(entries), Listeners: int(listeners)}, nil
}
