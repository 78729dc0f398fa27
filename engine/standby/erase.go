package standby

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// Erase implements [engine.Eraser]: first on the sides where something of before a
// switch may be, and last on the one that counts. If one of them cannot be asked, what
// the side that counts knows stays.
func (l ledger) Erase(ctx context.Context, key string) (was engine.Record, err error) {
	v := l.view.Load()
	for _, s := range v.ledger {
		rec, err := s.caps.Eraser.Erase(ctx, key)
		if err != nil {
			return engine.Record{}, fmt.Errorf("standby: the %v may know of %q and has not forgotten it: %w", s.side, key, err)
		}
		if rec.State != engine.Absent {
			was = rec
		}
	}
	rec, err := v.caps.Eraser.Erase(ctx, key)
	if err != nil || rec.State != engine.Absent || was.State == engine.Absent {
		rec.Local = v.side == Local
		return rec, err
	}
	return was, nil
}
