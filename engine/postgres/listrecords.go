package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/interlock-go/interlock/engine"
)

// List implements [engine.Ledger].
func (l ledger) List(ctx context.Context, pattern, cursor string) (records []engine.Record, next string, err error) {
	if err := l.usable(ctx); err != nil {
		return nil, "", err
	}
	from, err := after(cursor)
	if err != nil {
		return nil, "", err
	}
	sql := l.pageSQL("record", `x.key, CASE WHEN x.state = 1 AND x.lease <= now.t THEN 4 ELSE x.state END::bigint, x.fence, x.began, now.t - x.began,
CASE WHEN x.state = 1 AND x.lease > now.t THEN x.lease ELSE x.retained END - now.t, x.fingerprint`)
	s := &statement{name: "list_records", sql: sql, args: []any{from, like(pattern), int64(scanPage)}}
	var p page
	s.scan = func(rows pgx.Rows) error {
		var (
			key                            []byte
			state, fence, began, age, left *int64
			fingerprint                    []byte
		)
		if err := rows.Scan(&p.last, &p.full, &key, &state, &fence, &began, &age, &left, &fingerprint); err != nil {
			return err
		}
		if state != nil && matches(pattern, key) {
			a := recordAnswer{*state, *fence, *began, *age, *left, fingerprint, nil}
			records = append(records, a.record(string(key)))
		}
		return nil
	}
	if err := l.run(ctx, s); err != nil {
		return nil, "", err
	}
	return records, p.next(), nil
}
