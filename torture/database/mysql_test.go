package database

import (
	"context"
	"database/sql"
	"net/url"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/mysql"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/internal/testing/mysqltest"
)

// A mysqlSite is a process of a shop on MySQL.
type mysqlSite struct {
	pool   *sql.DB
	engine *mysql.Engine
	client *interlock.Client
	charge *guard.Guard[string]
	step   func(rune) // called at each step of a charge
}

// openMySQL returns a database with the table of the shop, which has no unique index, and a
// site on it.
func openMySQL(t *testing.T) (*mysqlSite, string) {
	t.Helper()
	url := mysqltest.StartServer(t).Create(t).URL()
	if _, err := mysql.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	s, err := newMySQLSite(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.client.Close(t.Context())
		_ = s.engine.Close()
		_ = s.pool.Close()
	})
	if _, err := s.pool.ExecContext(t.Context(), "CREATE TABLE charges (id varchar(40) NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	return s, url
}

// newMySQLSite connects to a database.
func newMySQLSite(ctx context.Context, address string) (*mysqlSite, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	c := driver.NewConfig()
	c.Net, c.Addr, c.DBName, c.User = "tcp", u.Host, u.Path[1:], u.User.Username()
	c.Passwd, _ = u.User.Password()
	s := &mysqlSite{step: func(rune) {}}
	if s.pool, err = sql.Open("mysql", c.FormatDSN()); err != nil {
		return nil, err
	}
	if s.engine, err = mysql.Open(ctx, address, mysql.Timeout(30*time.Second)); err != nil {
		return nil, err
	}
	s.client = interlock.New(s.engine)
	s.charge, err = guard.New[string](s.client, guard.Policy{Name: "charge", Scope: guard.Global})
	return s, err
}

// count returns the number that a query returns.
func (s *mysqlSite) count(t *testing.T, query string, args ...any) (n int) {
	t.Helper()
	if err := s.pool.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// chargeAll charges the keys of a keyset, one after the other.
func (s *mysqlSite) chargeAll(ctx context.Context, j job) error {
	for n := j.From; n < j.To; n++ {
		if err := s.chargeOnce(ctx, chargeKey(j.Keyset, n)); err != nil {
			return err
		}
	}
	return nil
}

// chargeOnce inserts one row as the effect of a key.
func (s *mysqlSite) chargeOnce(ctx context.Context, key guard.Key) error {
	tx, err := s.pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after Commit it does nothing
	_, err = s.charge.DoTx(ctx, s.engine.Tx(tx), key, func(ctx context.Context) (string, error) {
		s.step(stepClaimed)
		_, err := tx.ExecContext(ctx, "INSERT INTO charges VALUES (?)", key.ID)
		s.step(stepWorked)
		return key.ID, err
	})
	if err != nil {
		return err
	}
	s.step(stepSettled)
	return tx.Commit()
}
