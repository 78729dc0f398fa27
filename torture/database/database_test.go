package database

import (
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/postgres"
	"github.com/interlock-go/interlock/engine/postgres/outbox"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/internal/testing/postgrestest"
)

// open returns a database with the tables of the shop, none of which has a unique index,
// and a site on it.
func open(t *testing.T) (*site, string) {
	t.Helper()
	url := postgrestest.Start(t).URL()
	if _, err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	s, err := newSite(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.client.Close(t.Context())
		_ = s.engine.Close()
		s.pool.Close()
	})
	for _, table := range []string{"charges (id text)", "accounts (account text, phone text)", "answers (account text)", "orders (id text)", "accepted (id text)"} {
		if _, err := s.pool.Exec(t.Context(), "CREATE TABLE "+table); err != nil {
			t.Fatal(err)
		}
	}
	return s, url
}

// count returns the number that a query returns.
func (s *site) count(t *testing.T, query string, args ...any) (n int) {
	t.Helper()
	if err := s.pool.QueryRow(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDatabaseKills kills processes at random instants of their transactions.
func TestDatabaseKills(t *testing.T) {
	t.Run("PostgreSQL", func(t *testing.T) {
		s, url := open(t)
		killTransactions(t, job{Do: "charge", URL: url}, shop{
			guard:  s.charge,
			count:  func(query string, args ...any) int { return s.count(t, query, args...) },
			byKey:  "SELECT count(*) FROM charges WHERE id = $1",
			open:   "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()",
			charge: func(j job) error { return chargeAll(t.Context(), j, s) },
		})
	})
	t.Run("MySQL", func(t *testing.T) {
		s, url := openMySQL(t)
		killTransactions(t, job{Do: "charge", URL: url}, shop{
			guard:  s.charge,
			count:  func(query string, args ...any) int { return s.count(t, query, args...) },
			byKey:  "SELECT count(*) FROM charges WHERE id = ?",
			open:   "SELECT count(*) FROM information_schema.innodb_trx",
			charge: func(j job) error { return s.chargeAll(t.Context(), j) },
		})
	})
}

// A shop is a database in which processes charge keys.
type shop struct {
	guard  *guard.Guard[string]
	count  func(query string, args ...any) int
	byKey  string // the query for the effects of a key
	open   string // the query for the transactions that are open
	charge func(j job) error
}

// awaitRollbacks waits until the server has noticed that all killed processes are gone. MySQL
// shows an old state to a client that asks more often than ten times a second.
func (s *shop) awaitRollbacks(t *testing.T) {
	t.Helper()
	for range 300 {
		if s.count(s.open) == 0 {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Fatal("a transaction of a killed process is still open after a minute")
}

// killTransactions kills processes. The effects and the records agree, no outcome is unknown,
// and a later call does the rest.
func killTransactions(t *testing.T, j job, s shop) {
	t.Helper()
	kills := 300
	if testing.Short() {
		kills = 100
	}
	const keysets = 4
	var (
		mu     sync.Mutex
		phases = map[byte]int{}
		next   [keysets]int // the first number that no process has begun
		all    sync.WaitGroup
	)
	for keyset := range keysets {
		all.Go(func() {
			for range kills / keysets {
				j := j
				j.Keyset, j.From, j.To = keyset, next[keyset], 1<<20
				steps := killAtWork(t, j)
				for _, step := range steps {
					if step == stepClaimed {
						next[keyset]++
					}
				}
				mu.Lock()
				phases[steps[len(steps)-1]]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	s.awaitRollbacks(t)

	keys, done, absent := 0, 0, 0
	for keyset := range keysets {
		for n := range next[keyset] {
			keys++
			key := chargeKey(keyset, n)
			effects := s.count(s.byKey, key.ID)
			status, err := s.guard.Lookup(t.Context(), key)
			switch {
			case err != nil:
				t.Fatal(err)
			case status.State == engine.Done && effects == 1:
				done++
			case status.State == engine.Absent && effects == 0:
				absent++
			default:
				t.Errorf("key %s has %d effects, and its record is %v", key.ID, effects, status.State)
			}
		}
	}
	fmt.Printf("%s: %d kills (%d after a claim, %d after the work, %d before or after the commit): %d keys, %d done, %d undone, 0 unknown\n",
		t.Name(), kills, phases[stepClaimed], phases[stepWorked], phases[stepSettled], keys, done, absent)
	for _, step := range []byte{stepClaimed, stepWorked, stepSettled} {
		if phases[step] < kills/20 {
			t.Errorf("only %d of %d processes were killed in the phase %c", phases[step], kills, step)
		}
	}
	if absent == 0 || done == 0 {
		t.Errorf("%d keys are done and %d are not; the kills were at the wrong instants", done, absent)
	}

	for keyset := range keysets { // the missing charges are made now
		if err := s.charge(job{Keyset: keyset, To: next[keyset]}); err != nil {
			t.Fatal(err)
		}
	}
	if n, distinct := s.count("SELECT count(*) FROM charges"), s.count("SELECT count(DISTINCT id) FROM charges"); n != keys || distinct != keys {
		t.Errorf("in the end there are %d charges of %d keys, want %d", n, distinct, keys)
	}
}

// killAtWork starts a process, kills it at a random instant after its first step, and
// returns the steps that it took.
func killAtWork(t *testing.T, j job) []byte {
	t.Helper()
	w := start(t, j)
	first, err := w.stdout.ReadByte()
	if err != nil {
		t.Errorf("a process ended before its first step: %v", err)
		return []byte{0}
	}
	time.Sleep(rand.N(40 * time.Millisecond))
	_ = w.Process.Kill()
	rest, _ := io.ReadAll(w.stdout) // the steps before the kill
	_ = w.Cmd.Wait()
	return append([]byte{first}, rest...)
}

// TestDatabaseRegistration proves R1 on PostgreSQL: a phone number that is registered 1,000
// times at once, in three processes, is one account, although no index is unique.
func TestDatabaseRegistration(t *testing.T) {
	s, url := open(t)
	var workers []*worker
	for _, calls := range []int{334, 333, 333} {
		workers = append(workers, start(t, job{Do: "register", URL: url, Calls: calls}))
	}
	for _, w := range workers {
		if _, err := w.stdout.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range workers {
		_ = w.stdin.Close()
	}
	for _, w := range workers {
		w.end(t)
	}
	accounts, answers, different := s.count(t, "SELECT count(*) FROM accounts"), s.count(t, "SELECT count(*) FROM answers"), s.count(t, "SELECT count(DISTINCT account) FROM answers")
	fmt.Printf("database: 1000 registrations of one phone in 3 processes: %d account, %d answers\n", accounts, answers)
	if accounts != 1 || answers != 1000 || different != 1 {
		t.Errorf("%d accounts, %d answers with %d different accounts; want 1, 1000 and 1", accounts, answers, different)
	}
}

// TestDatabaseOutbox writes messages in transactions, some of which are rolled back, and
// kills the processes that deliver. Each committed message has one effect.
func TestDatabaseOutbox(t *testing.T) {
	messages, kills := 10_000, 10
	if testing.Short() {
		messages, kills = 2_000, 3
	}
	s, url := open(t)
	if err := s.box.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	workers := []*worker{start(t, job{Do: "deliver", URL: url}), start(t, job{Do: "deliver", URL: url}), start(t, job{Do: "deliver", URL: url})}
	written := make(chan struct{})
	go func() { defer close(written); s.writeMessages(t, messages) }()
	accepted := func() int { return s.count(t, "SELECT count(*) FROM accepted") }
	for k := range kills { // each after another part of the messages
		await(t, "a part of the messages", func() bool { return accepted() >= messages*k/(kills+1) })
		for i := range workers { // one of them delivers
			workers[i].kill()
			workers[i] = start(t, job{Do: "deliver", URL: url})
		}
	}
	<-written
	await(t, "all messages", func() bool { n, err := s.box.Waiting(t.Context()); return err == nil && n == 0 })
	for _, w := range workers {
		w.end(t)
	}
	orders, distinct := s.count(t, "SELECT count(*) FROM orders"), s.count(t, "SELECT count(DISTINCT id) FROM accepted WHERE id IN (SELECT id FROM orders)")
	fmt.Printf("database: %d messages, delivery killed %d times in 3 processes: %d effects of %d orders\n", orders, kills, accepted(), distinct)
	if n := accepted(); n != orders || distinct != orders || orders != messages {
		t.Errorf("%d messages were accepted, %d different ones of orders; want %d of each", n, distinct, messages)
	}
}

// writeMessages commits n orders, each with its message, in transactions of 50. Every tenth
// transaction is rolled back, and its orders are not among the n.
func (s *site) writeMessages(t *testing.T, n int) {
	for i, number := 0, 0; number < n; i++ {
		undo := i%10 == 9
		err := pgx.BeginFunc(t.Context(), s.pool, func(tx pgx.Tx) error {
			for k := range 50 {
				id := fmt.Sprintf("order-%d", number+k)
				if undo {
					id = fmt.Sprintf("undone-%d-%d", i, k)
				}
				if _, err := tx.Exec(t.Context(), "INSERT INTO orders VALUES ($1)", id); err != nil {
					return err
				}
				if err := s.box.Add(t.Context(), tx, outbox.Message{ID: id, Topic: "order.placed", Key: fmt.Sprint(k)}); err != nil {
					return err
				}
			}
			if undo {
				return errUndone
			}
			return nil
		})
		switch {
		case undo && err == errUndone: //nolint:errorlint // BeginFunc returns it unchanged
		case err != nil:
			t.Errorf("write messages: %v", err)
			return
		default:
			number += 50
		}
	}
}

var errUndone = fmt.Errorf("this transaction is rolled back on purpose")

// await waits until a condition is true.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not arrive within 5 minutes", what)
		}
	}
}
