package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"

	mysqldriver "github.com/go-sql-driver/mysql"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/mysql"
	"github.com/interlock-go/interlock/internal/testing/mysqltest"
)

// The labels of MariaDB's rows in the tables of results.
const (
	onMySQLRow        = "Interlock on MariaDB"
	getLockRow        = "mysql: GET_LOCK"
	mysqlForUpdateRow = "mysql: SELECT … FOR UPDATE of a row"
)

// A mysqlServer counts what is sent to it.
type mysqlServer struct {
	*mysqltest.Server
	requests atomic.Int64
}

// startMySQLBackend starts a MariaDB server with a database.
func startMySQLBackend(ctx context.Context, synced bool) (*backend, error) {
	flush := "0"
	if synced {
		flush = "1"
	}
	s, stop, err := mysqltest.Shared("--innodb-flush-log-at-trx-commit="+flush, "--innodb-monitor-enable=trx_rw_commits")
	if err != nil {
		return nil, err
	}
	m := &mysqlServer{Server: s}
	version, err := m.prepare(ctx)
	if err != nil {
		stop()
		return nil, err
	}
	ours := func(name string, opts ...interlock.Option) contender {
		return contender{name: name, open: func(ctx context.Context, _ string) (locks, error) {
			e, err := mysql.Open(ctx, m.URL(benchDatabase))
			if err != nil {
				return locks{}, err
			}
			return clientLocks(e, e.Close, opts...), nil
		}}
	}
	getLock, forUpdate := m.contender(getLockRow, namedLocks), m.contender(mysqlForUpdateRow, mysqlRowLocks)
	return &backend{
		name: "MariaDB " + version, stop: stop, peer: getLockRow,
		uncontended: []contender{ours(onMySQLRow), getLock, forUpdate},
		handOver:    []contender{ours(onMySQLRow), ours(onMySQLRow+", fair", interlock.Fair()), getLock, forUpdate},
		count:       m.count,
	}, nil
}

// prepare creates the database, the table of hand-written locks and the tables of the engine.
// It returns the server's version.
func (m *mysqlServer) prepare(ctx context.Context) (version string, err error) {
	// The engine takes no dialer, so the driver's dialer, which all connections share, counts
	// the requests.
	mysqldriver.RegisterDialContext("tcp", func(ctx context.Context, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		return countedConn{conn, &m.requests}, nil
	})
	if _, err := m.Query("mysql", "CREATE DATABASE "+benchDatabase); err != nil {
		return "", err
	}
	if _, err := m.Query(benchDatabase, "CREATE TABLE locks (name varchar(200) PRIMARY KEY) ENGINE=InnoDB"); err != nil {
		return "", err
	}
	if _, err := mysql.Migrate(ctx, m.URL(benchDatabase)); err != nil {
		return "", err
	}
	text, err := m.Query("mysql", "SELECT version()")
	version, _, _ = strings.Cut(text, "-")
	return version, err
}

// contender returns a contender on a pool of its own.
func (m *mysqlServer) contender(name string, on func(*sql.DB) locks) contender {
	open := func(context.Context, string) (locks, error) {
		address := strings.TrimPrefix(m.URL(benchDatabase), "mysql://")
		user, rest, _ := strings.Cut(address, "@")
		host, database, _ := strings.Cut(rest, "/")
		// interpolateParams sends a statement and its arguments in one request, as the engine does.
		db, err := sql.Open("mysql", fmt.Sprintf("%s@tcp(%s)/%s?interpolateParams=true", user, host, database))
		if err != nil {
			return locks{}, err
		}
		db.SetMaxOpenConns(callerConns)
		db.SetMaxIdleConns(callerConns)
		l := on(db)
		l.close = func() { _ = db.Close() }
		return l, nil
	}
	return contender{name: name, open: open}
}

// count reads the counters of the server, once the clients have left and their transactions
// have ended.
func (m *mysqlServer) count(ctx context.Context) (counts, error) {
	const clients = "SELECT COUNT(*) FROM information_schema.processlist WHERE db = '" + benchDatabase + "'"
	if err := awaitNoClient(ctx, func() (string, error) { return m.Query("mysql", clients) }); err != nil {
		return counts{}, err
	}
	text, err := m.Query("mysql", "SELECT count, (SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Innodb_data_fsyncs') "+
		"FROM information_schema.innodb_metrics WHERE name = 'trx_rw_commits'")
	if err != nil {
		return counts{}, err
	}
	return parseCounts(strings.Replace(text, "\t", "|", 1), m.requests.Load())
}

// namedLocks calls GET_LOCK and RELEASE_LOCK. The holder keeps its connection, because the
// server ties the lock to the connection.
func namedLocks(db *sql.DB) locks {
	lock := func(ctx context.Context, key string) (func() error, error) {
		conn, err := db.Conn(ctx)
		if err != nil {
			return nil, err
		}
		var granted sql.NullBool
		if err = conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, 60)", key).Scan(&granted); err == nil && !granted.Bool {
			err = errors.New("GET_LOCK waited for a minute")
		}
		if err != nil {
			_ = conn.Close()
			return nil, err
		}
		return func() error {
			defer conn.Close() //nolint:errcheck // it returns the connection to the pool
			_, err := conn.ExecContext(context.WithoutCancel(ctx), "DO RELEASE_LOCK(?)", key)
			return err
		}, nil
	}
	return locks{cycle: cycleOf(lock), lock: lock}
}

// mysqlRowLocks are hand-written locks of a row. The holder keeps a transaction open.
func mysqlRowLocks(db *sql.DB) locks {
	lock := func(ctx context.Context, key string) (func() error, error) {
		for range 2 { // the first lock of a key creates its row
			tx, err := db.BeginTx(context.WithoutCancel(ctx), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
			if err != nil {
				return nil, err
			}
			var name string
			err = tx.QueryRowContext(ctx, "SELECT name FROM locks WHERE name = ? FOR UPDATE", key).Scan(&name)
			if err == nil {
				return tx.Commit, nil
			}
			_ = tx.Rollback()
			if !errors.Is(err, sql.ErrNoRows) {
				return nil, err
			}
			if _, err := db.ExecContext(ctx, "INSERT IGNORE INTO locks VALUES (?)", key); err != nil {
				return nil, err
			}
		}
		return nil, fmt.Errorf("the row of %q is gone", key)
	}
	return locks{cycle: cycleOf(lock), lock: lock}
}
