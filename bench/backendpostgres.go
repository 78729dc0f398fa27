package main

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/postgres"
	"github.com/interlock-go/interlock/internal/testing/postgrestest"
)

// The rows on PostgreSQL.
const (
	onPostgresRow = "Interlock on PostgreSQL"
	advisoryRow   = "pgx: pg_advisory_lock"
	tryingRow     = "pgx: pg_try_advisory_lock every 10 ms"
	forUpdateRow  = "pgx: SELECT … FOR UPDATE of a row"
)

const (
	engineConns = 8 // of postgres.Open by default

	// callerConns is how many connections hand-written locks have. Each holder and each
	// waiter occupies one.
	callerConns = maxEngineCallers

	benchDatabase = "bench"
)

// A postgresServer counts what is sent to it.
type postgresServer struct {
	*postgrestest.Server
	requests atomic.Int64
}

// startPostgresBackend starts a server with a database, whose transactions are counted. The
// counters are read through another database.
func startPostgresBackend(ctx context.Context, synced bool) (*backend, error) {
	onOff := "off"
	if synced {
		onOff = "on"
	}
	s, stop, err := postgrestest.Shared("-c", "fsync="+onOff, "-c", "full_page_writes="+onOff)
	if err != nil {
		return nil, err
	}
	p := &postgresServer{Server: s}
	version, err := p.prepare(ctx)
	if err != nil {
		stop()
		return nil, err
	}
	ours := func(name string, opts ...interlock.Option) contender {
		return p.contender(name, engineConns, func(pool *pgxpool.Pool) locks {
			e := postgres.New(pool)
			return clientLocks(e, e.Close, opts...)
		})
	}
	advisory, forUpdate := p.contender(advisoryRow, callerConns, advisoryLocks), p.contender(forUpdateRow, callerConns, rowLocks)
	return &backend{
		name: "PostgreSQL " + version, stop: stop, peer: advisoryRow, postgres: p,
		uncontended: []contender{ours(onPostgresRow), advisory, forUpdate},
		handOver: []contender{
			ours(onPostgresRow), ours(onPostgresRow+", fair", interlock.Fair()), advisory, forUpdate,
			p.contender(tryingRow, callerConns, tryingLocks),
		},
		count: p.count,
	}, nil
}

// prepare creates the database, the tables of hand-written code and the schema of the
// engine, and returns the server's version.
func (p *postgresServer) prepare(ctx context.Context) (version string, err error) {
	if _, err := p.Query("postgres", "CREATE DATABASE "+benchDatabase); err != nil {
		return "", err
	}
	if _, err := p.Query(benchDatabase, "CREATE TABLE locks (key text PRIMARY KEY);"+paymentTables); err != nil {
		return "", err
	}
	if _, err := postgres.Migrate(ctx, p.URL(benchDatabase)); err != nil {
		return "", err
	}
	text, err := p.Query("postgres", "SHOW server_version")
	version, _, _ = strings.Cut(text, " ")
	return version, err
}

// open returns a pool whose requests are counted.
func (p *postgresServer) open(ctx context.Context, conns int32) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(p.URL(benchDatabase))
	if err != nil {
		return nil, err
	}
	config.MaxConns = conns
	config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return countedConn{conn, &p.requests}, nil
	}
	return pgxpool.NewWithConfig(ctx, config)
}

// A countedConn counts requests: pgx writes once for each.
type countedConn struct {
	net.Conn
	requests *atomic.Int64
}

func (c countedConn) Write(b []byte) (int, error) {
	c.requests.Add(1)
	return c.Conn.Write(b)
}

// contender returns a contender on a pool of its own.
func (p *postgresServer) contender(name string, conns int32, on func(*pgxpool.Pool) locks) contender {
	open := func(ctx context.Context, _ string) (locks, error) {
		pool, err := p.open(ctx, conns)
		if err != nil {
			return locks{}, err
		}
		l := on(pool)
		end := l.close
		l.close = func() {
			if end != nil {
				end()
			}
			pool.Close()
		}
		return l, nil
	}
	return contender{name: name, open: open}
}

// count reads the counters. A connection reports its transactions when it ends, so count
// waits until all have.
func (p *postgresServer) count(ctx context.Context) (counts, error) {
	const clients = "SELECT count(*) FROM pg_stat_activity WHERE datname = '" + benchDatabase + "' AND backend_type = 'client backend'"
	if err := awaitNoClient(ctx, func() (string, error) { return p.Query("postgres", clients) }); err != nil {
		return counts{}, err
	}
	text, err := p.Query("postgres", "SELECT (SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = '"+benchDatabase+"'), "+
		"(SELECT wal_sync FROM pg_stat_wal)")
	if err != nil {
		return counts{}, err
	}
	return parseCounts(text, p.requests.Load())
}

// advisoryLocks are hand-written session locks. The holder keeps a connection of the pool, because
// the lock belongs to it.
func advisoryLocks(pool *pgxpool.Pool) locks {
	lock := func(ctx context.Context, key string) (func() error, error) {
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return nil, err
		}
		if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtextextended($1, 0))", key); err != nil {
			conn.Release()
			return nil, err
		}
		return unlockAdvisory(ctx, conn, key), nil
	}
	return locks{cycle: cycleOf(lock), lock: lock}
}

// tryingLocks are advisory locks for a caller that polls instead of waiting in the server.
func tryingLocks(pool *pgxpool.Pool) locks {
	lock := func(ctx context.Context, key string) (func() error, error) {
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return nil, err
		}
		for granted := false; ; time.Sleep(10 * time.Millisecond) {
			if err = conn.QueryRow(ctx, "SELECT pg_try_advisory_lock(hashtextextended($1, 0))", key).Scan(&granted); err != nil {
				conn.Release()
				return nil, err
			}
			if granted {
				return unlockAdvisory(ctx, conn, key), nil
			}
		}
	}
	return locks{cycle: cycleOf(lock), lock: lock}
}

func unlockAdvisory(ctx context.Context, conn *pgxpool.Conn, key string) func() error {
	return func() error {
		defer conn.Release()
		_, err := conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock(hashtextextended($1, 0))", key)
		return err
	}
}

// rowLocks are hand-written locks of a row. The holder keeps a transaction open.
func rowLocks(pool *pgxpool.Pool) locks {
	lock := func(ctx context.Context, key string) (func() error, error) {
		for range 2 { // the first lock of a key creates its row
			tx, err := pool.Begin(ctx)
			if err != nil {
				return nil, err
			}
			tag, err := tx.Exec(ctx, "SELECT FROM locks WHERE key = $1 FOR UPDATE", key)
			if err == nil && tag.RowsAffected() == 1 {
				return func() error { return tx.Commit(context.WithoutCancel(ctx)) }, nil
			}
			_ = tx.Rollback(ctx)
			if err != nil {
				return nil, err
			}
			if _, err := pool.Exec(ctx, "INSERT INTO locks VALUES ($1) ON CONFLICT DO NOTHING", key); err != nil {
				return nil, err
			}
		}
		return nil, fmt.Errorf("the row of %q is gone: %w", key, pgx.ErrNoRows)
	}
	return locks{cycle: cycleOf(lock), lock: lock}
}
