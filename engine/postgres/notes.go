package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlock-go/interlock/engine"
)

var _ engine.Notes = (*Engine)(nil)

// ReadNote implements [engine.Notes].
func (e *Engine) ReadNote(ctx context.Context, name string) (n engine.Note, err error) {
	if err := e.checkNote(ctx, name); err != nil {
		return engine.Note{}, err
	}
	s := &statement{name: "read_note", key: name, args: []any{[]byte(name)}}
	s.sql = fmt.Sprintf("SELECT text, version, greatest(0, %[1]s.clock() - written) FROM %[1]s.note WHERE name = $1::bytea", e.schema)
	s.scan = func(rows pgx.Rows) error {
		var (
			text         []byte
			version, age int64
		)
		if err := rows.Scan(&text, &version, &age); err != nil {
			return err
		}
		n = engine.Note{Text: string(text), Version: uint64(version), Age: time.Duration(age) * time.Microsecond}
		return nil
	}
	if err := e.run(ctx, s); err != nil {
		return engine.Note{}, err
	}
	return n, nil
}

// WriteNote implements [engine.Notes].
func (e *Engine) WriteNote(ctx context.Context, name, text string, version uint64) error {
	if err := errors.Join(e.checkNote(ctx, name), checkFence(name, version)); err != nil {
		return err
	}
	s := e.call("write_note", name, []byte(name), []byte(text), int64(version), e.wait())
	var code, found int64
	if err := e.row(ctx, s, &code, &found); err != nil {
		return err
	}
	switch code {
	case 0:
		return nil
	case codeLocked:
		return lockedError(s)
	}
	return fail(s, fmt.Sprintf("it has version %d, not %d: read it again", found, version), engine.ErrConflict)
}

func (e *Engine) checkNote(ctx context.Context, name string) error {
	if err := e.usable(ctx); err != nil {
		return err
	}
	if name == "" {
		return errors.New("postgres: a note needs a name")
	}
	return nil
}
