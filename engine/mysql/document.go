package mysql

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/keystate"
)

// A rowID identifies the document of a key.
type rowID [sha256.Size]byte

// rowOf returns the id of a document.
func rowOf(class, key string) rowID { return sha256.Sum256([]byte(class + "\x00" + key)) }

// A document is a row of the table of documents, and the time at which it was read.
type document struct {
	id     rowID
	serial uint64
	body   []byte
	wakes  uint64
	woken  []byte
	now    int64
	exists bool
	until  int64 // when it may be deleted, if look has read it

	fresh uint64 // a serial that was taken for this row, to be deleted from its table; or zero
}

// The bits of a fence. A document has a serial, and its fences begin at serial<<serialBits:
// a million grants and reserves later, it keeps its row until the fence is passed.
const (
	serialBits = 20
	momentBits = serialBits - keystate.FenceBits
)

// moment returns when the document was read. Its ID is the same for all transactions on one
// row, whose state has the fences that were granted.
func (d *document) moment() keystate.Moment {
	return keystate.Moment{Now: d.now, ID: d.serial << momentBits}
}

// state returns the state of a key. A row without a body has nothing.
func (d *document) state(class, key string) (keystate.State, error) {
	if len(d.body) == 0 {
		return keystate.New(class, key), nil
	}
	s, err := keystate.Read(class, key, d.body)
	if err != nil {
		return nil, fmt.Errorf("mysql: the document of %q cannot be read: %w: %w", key, engine.ErrKind, err)
	}
	return s, nil
}

// A querier runs statements in a transaction: a connection of the engine, or a transaction of
// the caller.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// sql replaces {p} in a statement by the prefix of the tables.
func (e *Engine) sql(statement string) string { return strings.ReplaceAll(statement, "{p}", e.prefix) }

const (
	begin    = "START TRANSACTION; "
	lockRow  = "SELECT 1 FROM {p}document WHERE id = ? FOR UPDATE"
	keepRow  = "UPDATE {p}document SET expires = (SELECT ms FROM {p}clock) + 3600000 WHERE id = ? AND expires < (SELECT ms FROM {p}clock) + 600000"
	addRow   = "INSERT INTO {p}document VALUES (?, ?, ?, 0, '', 0, '', (SELECT ms FROM {p}clock) + 3600000) ON DUPLICATE KEY UPDATE id = id"
	takeNext = "INSERT INTO {p}serial () VALUES ()"

	// readRow comes after the statement that locks the row: the clock stands still during a
	// statement, also while it waits.
	readRow = "SELECT serial, body, wakes, woken, (SELECT ms FROM {p}clock) FROM {p}document WHERE id = ?"
)

// lock begins a transaction on a connection, locks the row of a key and reads it. A key
// without a row gets one. With nowait, a row that another transaction has locked is an error
// at once.
func (e *Engine) lock(ctx context.Context, conn querier, class, key string, nowait bool) (*document, error) {
	d := &document{id: rowOf(class, key)}
	found, err := d.scan(ctx, conn, e.sql(begin+locking(nowait)+"; "+readRow), d.id[:], d.id[:])
	if err != nil {
		return nil, err
	}
	if !found {
		found, err = d.scan(ctx, conn, e.sql(addRow+"; "+readRow), d.id[:], class, []byte(key), d.id[:])
		if err == nil && !found {
			err = errors.New("the row that was added is missing")
		}
	}
	if err != nil {
		return nil, err
	}
	return d, d.take(ctx, e, conn)
}

// locking returns the statement that locks a row.
func locking(nowait bool) string {
	if nowait {
		return lockRow + " NOWAIT"
	}
	return lockRow
}

// take takes a serial for a row that has none. The row is locked, so the serials of one key
// rise, whichever rows it had before.
func (d *document) take(ctx context.Context, e *Engine, tx querier) error {
	if d.serial != 0 {
		return nil
	}
	result, err := tx.ExecContext(ctx, e.sql(takeNext))
	if err != nil {
		return err
	}
	n, err := result.LastInsertId()
	d.serial, d.fresh = uint64(n), uint64(n)
	return err
}

// scan runs statements and reads the row that the last one returns. It reports false if it
// returns none.
func (d *document) scan(ctx context.Context, tx querier, query string, args ...any) (found bool, _ error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return false, err
	}
	defer rows.Close() //nolint:errcheck // Err has its error
	for {
		columns, err := rows.Columns()
		if err != nil {
			return false, err
		}
		for rows.Next() {
			if len(columns) < 5 {
				continue // of the statement that locks
			}
			found, d.exists = true, true
			if err := rows.Scan(&d.serial, &d.body, &d.wakes, &d.woken, &d.now); err != nil {
				return false, err
			}
		}
		if !rows.NextResultSet() {
			return found, rows.Err()
		}
	}
}

// look reads a document without locking it. The clock is read after it, because it must not
// be behind the transaction that wrote it. A document that does not exist is empty.
func (e *Engine) look(ctx context.Context, class, key string) (*document, error) {
	conn, err := e.conn(ctx)
	if err != nil {
		return nil, err
	}
	defer giveBack(conn, true)
	d := &document{id: rowOf(class, key)}
	rows, err := conn.QueryContext(ctx, e.sql("SELECT serial, body, expires FROM {p}document WHERE id = ?; SELECT ms FROM {p}clock"), d.id[:])
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err has its error
	for rows.Next() {
		d.exists = true
		if err := rows.Scan(&d.serial, &d.body, &d.until); err != nil {
			return nil, err
		}
	}
	if !rows.NextResultSet() || !rows.Next() {
		return nil, errors.Join(errors.New("the answer has no time"), rows.Err())
	}
	if err := rows.Scan(&d.now); err != nil {
		return nil, err
	}
	return d, rows.Err()
}

// A change is what a transaction writes.
type change struct {
	statements []string
	args       [][]any
	topics     []keystate.Topic // all that are notified
	wakes      uint64           // of the row, after the change
}

func (c *change) add(statement string, args ...any) {
	c.statements, c.args = append(c.statements, statement), append(c.args, args)
}

// batch returns all statements as one.
func (c *change) batch() (query string, args []any) {
	return strings.Join(c.statements, "; "), slices.Concat(c.args...)
}

const (
	keepFor = 60_000         // how long a row outlives what it says, in ms
	forever = int64(1) << 60 // when a row expires that must stay
	minute  = int64(60_000)  // expires is rounded up, so that few changes of a row change its index
	wakeFor = int64(600_000) // how long a row without a state lives, in ms
)

// change returns what to write after commands were executed.
func (e *Engine) change(d *document, class, key string, s keystate.State, x *keystate.Effects) (*change, error) {
	body, err := json.Marshal(s)
	if err != nil { // no state has a value that JSON lacks
		panic("mysql: encoding a document: " + err.Error())
	}
	if s.Vacant() && s.Fences() == 0 {
		body = nil
	}
	// Some bytes are escaped in the statement.
	if limit := e.packet.Load() * 3 / 5; limit > 0 && int64(len(body)) > limit {
		return nil, fmt.Errorf("mysql: %q would need %d bytes, and the limit is %d: raise max_allowed_packet (above %d it has no effect), or store large results elsewhere: %w",
			key, len(body), limit, maxPacket, engine.ErrFull)
	}
	c := &change{topics: x.Wakes, wakes: d.wakes}
	own, others := d.wake(class, key, x.Wakes)
	if own != nil {
		c.wakes++
		d.woken = own
	}
	c.add(e.sql("UPDATE {p}document SET serial = ?, body = ?, wakes = ?, woken = ?, expires = ? WHERE id = ?"),
		d.serial, notNull(body), c.wakes, notNull(d.woken), d.expires(class, s), d.id[:])
	if d.fresh != 0 {
		c.add(e.sql("DELETE FROM {p}serial WHERE n = ?"), d.fresh)
	}
	for _, t := range others {
		id := rowOf(t.Class, t.Key)
		c.add(e.sql("INSERT INTO {p}document VALUES (?, ?, ?, 0, '', 1, '', ?) ON DUPLICATE KEY UPDATE wakes = wakes + 1, woken = ''"),
			id[:], t.Class, []byte(t.Key), d.now+wakeFor)
	}
	return c, nil
}

// notNull returns b, or an empty slice for nil, which would be NULL.
func notNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// expires returns from when on the row may be deleted. The fences of the next row begin
// above those of this one, unless a reserve reaches that far.
func (d *document) expires(class string, s keystate.State) int64 {
	if s.Fences() >= (d.serial+1)<<serialBits || class == keystate.Notes {
		return forever
	}
	last := max(s.Lasts(), d.now) + keepFor
	return min((last/minute+1)*minute, forever)
}
