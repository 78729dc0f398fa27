package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/keystate"
)

// A round executes some calls on one document, in one transaction.
type round struct {
	e          *Engine
	class, key string
	id         rowID
	calls      []*keystate.Call
	waited     bool // these calls have waited for another round, so this one does not wait for a locked row
}

// run ends when every call has its answer or its caller has left. It repeats a transaction
// that had no effect because of other transactions. It reports whether it has waited for a
// locked row in vain.
func (r *round) run() (inVain bool) {
	ctx, cancel := context.WithTimeout(context.Background(), r.e.timeout)
	defer cancel()
	began := time.Now()
	for try := 1; ; try++ {
		r.calls = slices.DeleteFunc(r.calls, func(x *keystate.Call) bool { return !x.Waiting() })
		if len(r.calls) == 0 {
			return false
		}
		a := attempt{operation: r.calls[0].Do, key: r.key}
		_ = r.e.observe(context.Background(), a.operation, func() error {
			a.err = r.step(ctx, &a)
			return a.err
		})
		if a.err == nil {
			return false
		}
		if !a.sent {
			keystate.Unsend(r.calls)
		}
		if a.sent || ctx.Err() != nil || !repeats(a.err, !r.waited && time.Since(began) < r.e.lockWait()) {
			r.fail(&a)
			return isLocked(a.err) && !r.waited
		}
		time.Sleep(rand.N(time.Duration(min(try, 20)) * 2 * time.Millisecond))
	}
}

// fail answers the calls with an error. A claim of a key that a caller's transaction has
// locked finds it running.
func (r *round) fail(a *attempt) {
	err := r.e.explain(context.Background(), *a)
	if isLocked(a.err) && r.class == keystate.Records {
		r.failClaims(err)
		return
	}
	keystate.Fail(r.calls, err)
}

// failClaims answers the calls on a record that is locked.
func (r *round) failClaims(err error) {
	ctx, cancel := context.WithTimeout(context.Background(), r.e.timeout)
	defer cancel()
	for _, x := range r.calls {
		found, ok := r.e.lockedRecord(ctx, r.key, &x.Command)
		if ok {
			x.Resolve(found, nil)
			continue
		}
		x.Resolve(nil, err)
	}
}

// errLeft means that a caller has left before its call was sent.
var errLeft = errors.New("a caller has left")

// step executes the calls once. It sets a.sent if the transaction may have committed.
func (r *round) step(ctx context.Context, a *attempt) (err error) {
	conn, err := r.e.conn(ctx)
	if err != nil {
		return err
	}
	healthy := false
	defer func() { giveBack(conn, healthy) }()
	// A caller's transaction may lock a record for long. Calls that waited for it on the server
	// would keep connections from all others.
	d, err := r.e.lock(ctx, conn, r.class, r.key, r.waited || r.class == keystate.Records)
	if isLocked(err) {
		_, failed := conn.ExecContext(ctx, "ROLLBACK")
		healthy = failed == nil
	}
	if err != nil {
		return err
	}
	s, err := d.state(r.class, r.key)
	if err != nil {
		keystate.Fail(r.calls, err)
		return nil
	}
	commands := make([]keystate.Command, len(r.calls))
	for i, x := range r.calls {
		commands[i] = x.Command
	}
	answers, x := keystate.Execute(s, commands, d.moment())
	if !x.Changed {
		r.resolve(answers)
		_, err = conn.ExecContext(ctx, "ROLLBACK")
		healthy = err == nil
		return nil // the calls have their answers
	}
	c, err := r.e.change(d, r.class, r.key, s, &x)
	if err != nil {
		keystate.Fail(r.calls, err)
		return nil
	}
	if !keystate.Send(r.calls) {
		return errLeft
	}
	c.add("COMMIT")
	query, args := c.batch()
	if f := r.e.beforeCommit.Load(); f != nil {
		(*f)()
	}
	if _, err = conn.ExecContext(ctx, query, args...); err != nil {
		a.sent = !rolledBack(err)
		return err
	}
	healthy = true
	r.resolve(answers)
	r.e.notices.notify(c, d)
	return nil
}

// resolve answers the calls.
func (r *round) resolve(answers []any) {
	for i, x := range r.calls {
		x.Resolve(answers[i], nil)
	}
}

// conn returns a connection of the pool. The error matches errCrowded if none became free.
func (e *Engine) conn(ctx context.Context) (*sql.Conn, error) {
	conn, err := e.db.Conn(ctx)
	if err != nil && ctx.Err() != nil && e.crowded() {
		return nil, errors.Join(errCrowded, err)
	}
	return conn, err
}

var errCrowded = errors.New("all connections of the pool are in use")

// giveBack returns a connection to the pool. A connection that may be in a transaction is
// closed, and the server rolls the transaction back.
func giveBack(conn *sql.Conn, healthy bool) {
	if !healthy {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	_ = conn.Close()
}

// crowded reports whether all connections of the pool are in use.
func (e *Engine) crowded() bool { return e.db.Stats().InUse >= e.conns }

// observe reports a request to the observers. They see the meaning of an error, but no key.
func (e *Engine) observe(ctx context.Context, operation string, do func() error) error {
	if !e.calls.Active() {
		return do()
	}
	start := time.Now()
	err := do()
	seen := err
	if errors.Is(err, errLeft) || isLocked(err) { // the server has answered
		seen = nil
	} else if err != nil {
		seen = e.explain(ctx, attempt{operation: operation, err: err})
	}
	e.calls.Call(engine.ServerCall{Operation: operation, Node: e.addr, Took: time.Since(start), Err: seen})
	return err
}
