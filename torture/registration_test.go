package torture

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite" // a table that several processes share

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// users is a table in a file. It has no unique index: only the guard prevents two users
// with the same phone number.
type users struct{ db *sql.DB }

func openUsers(path string) (users, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(20000)&_pragma=synchronous(OFF)")
	if err != nil {
		return users{}, err
	}
	db.SetMaxOpenConns(8) // as in a service
	_, err = db.Exec("CREATE TABLE IF NOT EXISTS users (id INTEGER PRIMARY KEY, phone TEXT)")
	return users{db}, err
}

func (u users) count(ctx context.Context, phone string) (n int, err error) {
	err = u.db.QueryRowContext(ctx, "SELECT count(*) FROM users WHERE phone = ?", phone).Scan(&n)
	return n, err
}

// The outcomes of a registration.
const (
	registered         = "registered"
	existsAlready      = "exists already"
	beingRegistered    = "being registered"
	registrationFailed = "failed"
)

// register adds a user unless the phone number is registered.
func (u users) register(ctx context.Context, phone string) (string, error) {
	n, err := u.count(ctx, phone)
	switch {
	case err != nil:
		return registrationFailed, err
	case n > 0:
		return existsAlready, nil
	}
	time.Sleep(2 * time.Millisecond) // the password is hashed
	if _, err := u.db.ExecContext(ctx, "INSERT INTO users (phone) VALUES (?)", phone); err != nil {
		return registrationFailed, err
	}
	return registered, nil
}

// registerGuarded calls register under the guard.
func (u users) registerGuarded(ctx context.Context, g *guard.Guard[string], phone string) (string, error) {
	ctx, claim, err := g.Begin(ctx, guard.ID(phone))
	switch {
	case errors.Is(err, guard.ErrDuplicate):
		return beingRegistered, nil
	case err != nil:
		return registrationFailed, err
	}
	defer claim.Abandon()
	if _, ok := claim.Result(); ok {
		return existsAlready, nil
	}
	outcome, err := u.register(ctx, phone)
	if err != nil {
		return registrationFailed, errors.Join(err, claim.Fail(err))
	}
	return outcome, claim.Complete(outcome)
}

// registerAll is a process that registers the same phone number many times. With a policy
// it uses a guard.
func registerAll(j job, c *interlock.Client) error {
	u, err := openUsers(j.Table)
	if err != nil {
		return err
	}
	defer u.db.Close()
	if _, err := u.count(context.Background(), ""); err != nil {
		return err
	}
	register := func() (string, error) { return u.register(context.Background(), j.Key) }
	if j.Policy.Name != "" {
		g, err := guard.New[string](c, j.Policy)
		if err != nil {
			return err
		}
		register = func() (string, error) { return u.registerGuarded(context.Background(), g, j.Key) }
	}
	return j.callOnCommand(func() string {
		outcome, err := register()
		if err != nil {
			fmt.Fprintln(os.Stderr, "registration:", err)
		}
		return outcome
	})
}

// TestRegistration registers one phone number many times at once, in several processes
// and without a unique index (requirement R1). One user is created, and every caller gets
// the true outcome.
func TestRegistration(t *testing.T) {
	const processes, callers, phone = 3, 200, "13800138000"
	t.Run("R1 without a guard the race creates several users", func(t *testing.T) {
		for range 10 {
			r := newRegistration(t, processes, phone, guard.Policy{})
			outcomes := r.callAtOnce(20, 20, 20)
			r.print("R1, no guard:", outcomes)
			if r.rows() > 1 {
				return
			}
		}
		t.Error("ten rounds without a guard created one user each, want a race: otherwise the guarded rounds prove nothing")
	})
	t.Run("R1 with a guard there is one user", func(t *testing.T) {
		r := newRegistration(t, processes, phone, guard.Policy{Name: "register", Scope: guard.Global, Lease: guard.DefaultLease * 2})
		first := r.callAtOnce(callers, callers, callers)
		r.print("R1, at once:", first)
		if first.sum() != processes*callers || first[registered] != 1 || first[registrationFailed] != 0 {
			t.Errorf("got %v, want 1 registered and 0 failed of %d", first, processes*callers)
		}
		// A process may answer "being registered" until it is notified.
		r.eventually(20*guard.DefaultLocalCache, "every caller learns that the user exists", func() bool {
			again := r.callAtOnce(callers, callers, callers)
			r.print("R1, again:", again)
			if again.sum() != processes*callers || again[registered]+again[registrationFailed] != 0 {
				t.Errorf("the second time: got %v, want 0 registered and 0 failed", again)
			}
			return again[existsAlready] == processes*callers
		})
		r.server.Must(append([]string{"DEL"}, r.records()...)...) // only the table has the user now
		time.Sleep(guard.DefaultLocalCache)                       // until the local caches have expired
		late := r.callAtOnce(callers, callers, callers)
		r.print("R1, records lost:", late)
		if late.sum() != processes*callers || late[existsAlready] == 0 || late[registered]+late[registrationFailed] != 0 {
			t.Errorf("without records: got %v, want 0 registered and 0 failed", late)
		}
		if rows := r.rows(); rows != 1 {
			t.Errorf("the table has %d users, want 1", rows)
		}
	})
}

// A registration is a table and the processes that register users in it.
type registration struct {
	*workerGroup
	*guardFixture
	table users
	phone string
}

func newRegistration(t *testing.T, processes int, phone string, policy guard.Policy) *registration {
	t.Helper()
	r := &registration{guardFixture: &guardFixture{fixture: &fixture{t: t, server: redistest.Start(t)}}, phone: phone}
	path := filepath.Join(t.TempDir(), "users.db")
	var err error
	if r.table, err = openUsers(path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.table.db.Close() })
	r.workerGroup = newWorkerGroup(t, processes, job{Do: "register", Engine: r.server.URL(), Policy: policy, Key: phone, Table: path})
	return r
}

// rows returns the number of users with the phone number.
func (r *registration) rows() int {
	n, err := r.table.count(context.Background(), r.phone)
	if err != nil {
		r.guardFixture.t.Fatal(err)
	}
	return n
}

func (r *registration) print(what string, outcomes tally) {
	fmt.Printf("%-18s", what)
	for _, outcome := range []string{registered, existsAlready, beingRegistered, registrationFailed} {
		fmt.Printf(" %d %s,", outcomes[outcome], outcome)
	}
	fmt.Printf(" %d in total; rows: %d\n", outcomes.sum(), r.rows())
}
