package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// quotas implements [engine.Quotas].
type quotas struct{ *Engine }

// Take implements [engine.Quotas].
func (q quotas) Take(ctx context.Context, r engine.Quota) (engine.Usage, error) {
	if err := q.checkQuota(ctx, &r); err != nil {
		return engine.Usage{}, err
	}
	window, from, until := windowOf(&r)
	s := q.call("take", r.Key, []byte(r.Key), []byte(r.Attempt), int64(r.Limit), window, from, until, q.wait())
	var (
		code, used, next, now int64
		use                   engine.Usage
	)
	if err := q.row(ctx, s, &code, &use.Granted, &use.Outside, &used, &next, &now); err != nil {
		return engine.Usage{}, err
	}
	if code == codeLocked {
		return engine.Usage{}, lockedError(s)
	}
	use.Used, use.Now = int(used), time.UnixMicro(now)
	if used > 0 {
		use.Next = duration(next)
	}
	return use, nil
}

// Return implements [engine.Quotas].
func (q quotas) Return(ctx context.Context, r engine.Quota) (bool, error) {
	if err := q.checkQuota(ctx, &r); err != nil {
		return false, err
	}
	window, from, until := windowOf(&r)
	s := q.call("give_back", r.Key, []byte(r.Key), []byte(r.Attempt), window, from, until, q.wait())
	var code int64
	if err := q.row(ctx, s, &code); err != nil {
		return false, err
	}
	if code == codeLocked {
		return false, lockedError(s)
	}
	return code == 1, nil
}

// windowOf returns the window of a quota in µs: the length of a sliding window, then the
// beginning and the end of a calendar window.
func windowOf(r *engine.Quota) (window, from, until int64) {
	if r.Until.IsZero() {
		return micros(r.Window), 0, 0
	}
	return 0, r.From.UnixMicro(), r.Until.UnixMicro()
}

// checkQuota refuses an invalid request.
func (e *Engine) checkQuota(ctx context.Context, r *engine.Quota) error {
	if err := e.usable(ctx); err != nil {
		return err
	}
	if r.Key == "" || r.Limit <= 0 || r.Until.IsZero() && r.Window <= 0 || !r.Until.IsZero() && !r.From.Before(r.Until) {
		return fmt.Errorf("postgres: the request for quota %q is incomplete: set a Key, a Limit above zero, "+
			"and a Window above zero or From before Until", r.Key)
	}
	return nil
}
