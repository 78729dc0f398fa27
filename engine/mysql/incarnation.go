package mysql

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Connections implements [engine.Incarnations].
func (e *Engine) Connections() uint64 { return e.dials.Load() }

// Incarnation implements [engine.Incarnations]. Each start of the server begins a new one,
// even if the server has lost nothing.
func (e *Engine) Incarnation(ctx context.Context) (engine.Incarnation, error) {
	if err := e.ready(ctx); err != nil {
		return engine.Incarnation{}, err
	}
	limited, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	var (
		data, host string
		server     int64
		uptime     time.Duration
	)
	err := e.observe(ctx, "incarnation", func() (err error) {
		if err = e.db.QueryRowContext(limited, e.sql("SELECT id, @@hostname, @@server_id FROM {p}meta")).Scan(&data, &host, &server); err == nil {
			uptime, err = e.uptime(limited)
		}
		return err
	})
	if err != nil {
		return engine.Incarnation{}, e.explain(ctx, attempt{operation: "incarnation", err: err})
	}
	machine := fmt.Sprintf("%s %s %d", data, host, server)
	return engine.Incarnation{ID: e.starts.id(machine, time.Now().Add(-uptime)), Age: uptime}, nil
}

// uptime returns how long the server has run.
func (e *Engine) uptime(ctx context.Context) (time.Duration, error) {
	var (
		variable string
		seconds  int64
	)
	err := e.db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Uptime'").Scan(&variable, &seconds)
	return time.Duration(seconds) * time.Second, err
}

// serverStarts are the times at which servers started. A server tells how long it has been running, in whole
// seconds, so its start seems to be a little different each time.
type serverStarts struct {
	mu   sync.Mutex
	seen map[string]time.Time
}

// sameStart is how far apart the times of one start may seem to be.
const sameStart = 2 * time.Second

// id returns a name for a run of a server.
func (x *serverStarts) id(server string, started time.Time) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.seen == nil {
		x.seen = make(map[string]time.Time)
	}
	if before, ok := x.seen[server]; !ok || started.Sub(before).Abs() > sameStart {
		x.seen[server] = started
	}
	return fmt.Sprintf("%s %d", server, x.seen[server].UnixMilli())
}
