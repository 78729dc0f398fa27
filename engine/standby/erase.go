package standby

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// Erase implements [engine.Eraser]. It erases earlier records on the other sides first,
// and the record on the active side last. If another side cannot be reached, the record
// on the active side stays.
func (l ledger) Erase(ctx context.Context, key string) (earlier engine.Record, err error) {
	v := l.view.Load()
	for _, s := range v.ledger {
		rec, err := s.caps.Eraser.Erase(ctx, key)
		if err != nil {
			return engine.Record{}, fmt.Errorf("standby: the %v may have a record of %q, which was not erased: %w", s.side, key, err)
		}
		if rec.State != engine.Absent {
			earlier = rec
		}
	}
	rec, err := v.caps.Eraser.Erase(ctx, key)
	if err != nil || rec.State != engine.Absent || earlier.State == engine.Absent {
		rec.Local = v.side == Local
		return rec, err
	}
	return earlier, nil
}
