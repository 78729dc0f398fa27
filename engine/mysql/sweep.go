package mysql

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"
)

const (
	sweepEvery = 10 * time.Second // how often the engine deletes rows that have expired, on average
	sweepRows  = 200              // how many at once
)

// sweepLoop deletes expired rows every 5 to 15 s until the engine is closed.
func (e *Engine) sweepLoop() {
	for {
		timer := time.NewTimer(sweepEvery/2 + rand.N(sweepEvery))
		select {
		case <-e.closing:
			timer.Stop()
			return
		case <-timer.C:
		}
		for e.checked.Load() && !e.isClosing() {
			if n, err := e.sweep(); err != nil || n < sweepRows {
				break
			}
		}
	}
}

// sweep deletes some rows that have expired. It skips rows that a transaction has locked, and
// locks those that it deletes, so that no transaction can be using them.
func (e *Engine) sweep() (n int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), e.timeout)
	defer cancel()
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	healthy := false
	defer func() { giveBack(conn, healthy) }()
	rows, err := conn.QueryContext(ctx, e.sql(begin+"SELECT id FROM {p}document WHERE expires < (SELECT ms FROM {p}clock) ORDER BY expires LIMIT ? FOR UPDATE SKIP LOCKED"), sweepRows)
	if err != nil {
		return 0, err
	}
	var ids []any
	for rows.Next() {
		var id []byte
		if err := rows.Scan(&id); err != nil {
			_ = rows.Close()
			return 0, err
		}
		ids = append(ids, id)
	}
	// After an error the transaction may have ended, and with it the locks on the rows.
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return 0, err
	}
	end := "COMMIT"
	if len(ids) > 0 {
		end = e.sql("DELETE FROM {p}document WHERE id IN (?" + strings.Repeat(", ?", len(ids)-1) + "); COMMIT")
	}
	_, err = conn.ExecContext(ctx, end, ids...)
	healthy = err == nil
	return len(ids), err
}
