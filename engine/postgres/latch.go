package postgres

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// CountDown implements [engine.Latcher].
func (e *Engine) CountDown(ctx context.Context, r engine.Request) (left int, err error) {
	if err := e.usable(ctx); err != nil {
		return 0, err
	}
	if r.Key == "" || r.Lease <= 0 {
		return 0, fmt.Errorf("postgres: the request for latch %q is incomplete: set a Key and a Lease above zero", r.Key)
	}
	if err := checkLimit(&r); err != nil {
		return 0, err
	}
	attempt := ""
	if r.Attempt != "" {
		// Attempts are unique only within one holder.
		attempt = fmt.Sprintf("%d:%s%s", len(r.Holder), r.Holder, r.Attempt)
	}
	s := e.call("count_down", r.Key, []byte(r.Key), []byte(attempt), int64(r.Limit), micros(r.Lease), e.wait())
	var code, n int64
	if err := e.row(ctx, s, &code, &n); err != nil {
		return 0, err
	}
	if code != 0 {
		return 0, refusal(s, &engine.Request{Kind: engine.Latch}, code, engine.Kind(n))
	}
	return int(n), nil
}
