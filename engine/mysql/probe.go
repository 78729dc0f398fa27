package mysql

import (
	"context"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/engine"
)

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
	return engine.Health{Product: engine.MySQL, Topology: engine.Standalone, Nodes: []engine.Node{{Addr: a.config.Addr, Err: err}}}, nil
}

// settingNames are the variables of the server that locks and records depend on. A server
// has some of them under one of two names.
var settingNames = []string{
	"innodb_flush_log_at_trx_commit", "sync_binlog", "log_bin", "binlog_format", "read_only", "super_read_only", "max_connections",
	"transaction_isolation", "tx_isolation", "innodb_rollback_on_timeout", "innodb_snapshot_isolation", "wsrep_on",
	"rpl_semi_sync_master_enabled", "rpl_semi_sync_source_enabled",
}

// Probe implements [engine.Prober].
func (e *Engine) Probe(ctx context.Context) (engine.Health, error) {
	if err := e.usable(ctx); err != nil {
		return engine.Health{}, err
	}
	n := engine.Node{Addr: e.addr, Eviction: "noeviction"}
	if n.Err = e.ready(ctx); n.Err == nil {
		n.Err = e.examine(ctx, &n)
	}
	return engine.Health{Product: engine.MySQL, Topology: engine.Standalone, Nodes: []engine.Node{n}, Timeout: e.timeout}, nil
}

// examine reads what the server says about itself.
func (e *Engine) examine(ctx context.Context, n *engine.Node) error {
	limited, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	err := e.observe(ctx, "probe", func() error { return e.ask(limited, n) })
	if err != nil {
		return e.explain(ctx, attempt{operation: "probe", err: err})
	}
	return nil
}

func (e *Engine) ask(ctx context.Context, n *engine.Node) error {
	for range 3 {
		var now int64
		sent := time.Now()
		if err := e.db.QueryRowContext(ctx, e.sql("SELECT ms, VERSION() FROM {p}clock")).Scan(&now, &n.Version); err != nil {
			return err
		}
		took := time.Since(sent)
		if n.Latency > 0 && took >= n.Latency {
			continue
		}
		// The server reads its clock about halfway through the round trip. The fastest answer
		// is the most exact.
		n.Latency, n.Offset = took, time.UnixMilli(now).Sub(sent.Add(took/2))
	}
	settings, err := e.variables(ctx, "SHOW GLOBAL VARIABLES", settingNames...)
	if err != nil {
		return err
	}
	status, err := e.variables(ctx, "SHOW GLOBAL STATUS", "Uptime", "Threads_connected", "Slaves_connected")
	if err != nil {
		return err
	}
	m, err := e.Incarnation(ctx)
	if err != nil {
		return err
	}
	n.ID, n.Role, n.Uptime, n.Settings, n.AppendOnly = m.ID, engine.Primary, m.Age, settings, durability(settings)
	if settings["read_only"] == "ON" || settings["super_read_only"] == "ON" {
		n.Role = engine.Replica
	}
	n.Connections, _ = strconv.Atoi(status["Threads_connected"])
	n.MaxConnections, _ = strconv.Atoi(settings["max_connections"])
	n.Replicas, _ = strconv.Atoi(status["Slaves_connected"])
	if settings["rpl_semi_sync_master_enabled"] == "ON" || settings["rpl_semi_sync_source_enabled"] == "ON" {
		n.MinReplicas = 1
	}
	n.Denied, err = e.denied(ctx)
	return err
}

// variables returns variables of the server by name.
func (e *Engine) variables(ctx context.Context, show string, names ...string) (map[string]string, error) {
	query, args := show+" WHERE Variable_name IN (", []any(nil)
	for i, name := range names {
		if i > 0 {
			query += ", "
		}
		query, args = query+"?", append(args, name)
	}
	rows, err := e.db.QueryContext(ctx, query+")", args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err has its error
	found := make(map[string]string)
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		found[name] = value
	}
	return found, rows.Err()
}

// durability returns when commits are synced to disk, in the words of engine.Node.
func durability(settings map[string]string) string {
	switch {
	case settings["innodb_flush_log_at_trx_commit"] != "1":
		return "everysec" // 2 survives a crash of the server, but not of the machine
	case settings["log_bin"] == "ON" && settings["sync_binlog"] != "1":
		return "everysec" // a commit that the binary log lacks is rolled back after a power cut
	}
	return "always"
}

// trials are statements that change nothing and need a permission.
var trials = []struct{ permission, statement string }{
	{"INSERT ON {p}document", "INSERT INTO {p}document SELECT * FROM {p}document WHERE 1 = 0"},
	{"UPDATE ON {p}document", "UPDATE {p}document SET serial = serial WHERE 1 = 0"},
	{"DELETE ON {p}document", "DELETE FROM {p}document WHERE 1 = 0"},
	{"INSERT ON {p}serial", "INSERT INTO {p}serial SELECT * FROM {p}serial WHERE 1 = 0"},
	{"DELETE ON {p}serial", "DELETE FROM {p}serial WHERE 1 = 0"},
}

// denied returns the permissions that the user lacks.
func (e *Engine) denied(ctx context.Context) (all []string, _ error) {
	for _, t := range trials {
		switch _, err := e.db.ExecContext(ctx, e.sql(t.statement)); number(err) {
		case 1142, 1143:
			all = append(all, e.sql(t.permission))
		default:
			if err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}
