package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlock-go/interlock/engine"
)

// Register implements [engine.Inspector].
func (e *Engine) Register(ctx context.Context, m engine.Member, life time.Duration) error {
	if err := e.usable(ctx); err != nil {
		return err
	}
	if m.ID == "" || life <= 0 {
		return fmt.Errorf("postgres: the registration of client %q is incomplete: set an ID and a lifetime above zero", m.ID)
	}
	var code int64
	return e.row(ctx, e.call("register", m.ID, []byte(m.ID), []byte(m.Name), []byte(m.Host), int64(m.PID), m.Since.UnixNano(), micros(life)), &code)
}

// Members implements [engine.Inspector].
func (e *Engine) Members(ctx context.Context, ids []string) (known []engine.Member, err error) {
	if err := e.usable(ctx); err != nil {
		return nil, err
	}
	names := make([][]byte, len(ids))
	for i, id := range ids {
		names[i] = []byte(id)
	}
	s := &statement{name: "members", args: []any{names}}
	s.sql = fmt.Sprintf("SELECT id, name, host, pid, since FROM %[1]s.client WHERE id = ANY ($1::bytea[]) AND expires > %[1]s.clock()", e.schema)
	s.scan = func(rows pgx.Rows) error {
		var (
			id, name, host []byte
			pid, since     int64
		)
		if err := rows.Scan(&id, &name, &host, &pid, &since); err != nil {
			return err
		}
		known = append(known, engine.Member{ID: string(id), Name: string(name), Host: string(host), PID: int(pid), Since: time.Unix(0, since)})
		return nil
	}
	if err := e.run(ctx, s); err != nil {
		return nil, err
	}
	return known, nil
}

// Watch implements [engine.Inspector].
func (e *Engine) Watch(id string) (wake <-chan struct{}, stop func()) {
	return e.notices.subscribe(topic("c", id))
}
