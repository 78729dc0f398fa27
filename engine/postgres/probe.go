package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlock-go/interlock/engine"
)

var _ engine.Prober = (*Engine)(nil)

// Probe reports the health of the server of a URL, even if [Open] would fail.
func Probe(ctx context.Context, url string, opts ...Option) (engine.Health, error) {
	e, err := Open(ctx, url, append(opts, Lazy())...)
	if err == nil {
		defer e.Close() //nolint:errcheck // it returns none
		return e.Probe(ctx)
	}
	a, parseErr := parse(url)
	if parseErr != nil || ctx.Err() != nil {
		return engine.Health{}, err
	}
	return engine.Health{Product: engine.PostgreSQL, Topology: engine.Standalone, Nodes: []engine.Node{{Addr: hostPort(a.pool.ConnConfig), Err: err}}}, nil
}

// probeSQL reads the server's settings, in the order of nodeProbe.
const probeSQL = `SELECT pg_is_in_recovery(), split_part(current_setting('server_version'), ' ', 1),
to_char(pg_postmaster_start_time() AT TIME ZONE 'UTC', 'YYYYMMDD"T"HH24MISS.US'),
(extract(epoch FROM clock_timestamp() - pg_postmaster_start_time()) * 1000000)::bigint,
current_setting('fsync'), current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
(SELECT count(*) FROM pg_stat_replication), %[1]s.clock(),
(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), current_setting('max_connections')::bigint,
current_setting('idle_in_transaction_session_timeout'), current_setting('default_transaction_isolation')`

// Probe implements [engine.Prober].
func (e *Engine) Probe(ctx context.Context) (engine.Health, error) {
	if err := e.usable(ctx); err != nil {
		return engine.Health{}, err
	}
	n := engine.Node{Addr: e.addr, Eviction: "noeviction"}
	var (
		replica             bool
		uptime, clock       int64
		fsync, commit, acks string
		replicas            int64
		conns, maxConns     int64
		idle, isolation     string
	)
	for range 3 {
		s := &statement{name: "probe", sql: fmt.Sprintf(probeSQL, e.schema)}
		s.scan = func(rows pgx.Rows) error {
			return rows.Scan(&replica, &n.Version, &n.ID, &uptime, &fsync, &commit, &acks, &replicas, &clock, &conns, &maxConns, &idle, &isolation)
		}
		sent := time.Now()
		if n.Err = e.run(ctx, s); n.Err != nil {
			break
		}
		took := time.Since(sent)
		if n.Latency > 0 && took >= n.Latency {
			continue
		}
		// The server reads its clock about halfway through the round trip. The fastest answer
		// is the most exact.
		n.Latency, n.Offset = took, time.UnixMicro(clock).Sub(sent.Add(took/2))
	}
	if n.Err == nil {
		n.Role, n.Uptime, n.Replicas, n.AppendOnly = engine.Primary, time.Duration(uptime)*time.Microsecond, int(replicas), durability(fsync, commit)
		if replica {
			n.Role = engine.Replica
		}
		n.Connections, n.MaxConnections = int(conns), int(maxConns)
		n.Settings = map[string]string{"idle_in_transaction_session_timeout": idle, "default_transaction_isolation": isolation}
		if acks != "" && commit != "off" && commit != "local" {
			n.MinReplicas = 1
		}
		n.Denied, n.Err = e.denied(ctx)
	}
	return engine.Health{Product: engine.PostgreSQL, Topology: engine.Standalone, Nodes: []engine.Node{n}, Timeout: e.timeout, Notices: e.remarks()}, nil
}

// durability returns when writes are synced to disk, in the words of engine.Node.
func durability(fsync, commit string) string {
	switch {
	case fsync == "off":
		return "no-sync"
	case commit == "off":
		return "everysec" // within three times wal_writer_delay, 600ms by default
	}
	return "always"
}

// remarks says what is unusual about the engine's own settings.
func (e *Engine) remarks() (all []string) {
	if e.listen == listenOff {
		all = append(all, "the engine does not listen, so waiters poll: listen to the URL of a direct connection if there is one")
	}
	if e.explicit.Load() {
		all = append(all, "default_transaction_isolation is not read committed: each call begins its own transaction")
	}
	return all
}

// denied returns the permissions that the user lacks.
func (e *Engine) denied(ctx context.Context) (all []string, err error) {
	s := &statement{name: "permissions", args: []any{string(e.schema)}}
	s.sql = `SELECT p || ' ON ' || c.oid::regclass FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace,
unnest(CASE c.relkind WHEN 'S' THEN ARRAY['USAGE', 'SELECT'] ELSE ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE'] END) p
WHERE n.nspname = $1 AND c.relkind IN ('r', 'S') AND c.relname <> 'meta'
AND NOT CASE c.relkind WHEN 'S' THEN has_sequence_privilege(c.oid, p) ELSE has_table_privilege(c.oid, p) END ORDER BY 1`
	s.scan = func(rows pgx.Rows) error {
		var missing string
		err := rows.Scan(&missing)
		all = append(all, missing)
		return err
	}
	return all, e.run(ctx, s)
}
