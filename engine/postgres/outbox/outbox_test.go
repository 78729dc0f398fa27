package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx of database/sql

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/postgres/outbox"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
	"github.com/interlock-go/interlock/internal/testing/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

// A box is an outbox in a database of its own.
type box struct {
	*outbox.Outbox
	pool *pgxpool.Pool
	url  string
}

func open(t *testing.T, opts ...outbox.Option) box {
	t.Helper()
	url := postgrestest.Start(t).URL()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	b := box{outbox.New(pool, append([]outbox.Option{outbox.Poll(10 * time.Millisecond)}, opts...)...), pool, url}
	if err := b.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// add adds messages in a transaction of their own.
func (b box) add(t *testing.T, messages ...outbox.Message) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error { return b.Add(t.Context(), tx, messages...) })
	if err != nil {
		t.Fatal(err)
	}
}

// A consumer records what it gets.
type consumer struct {
	mu     sync.Mutex
	bodies []string
	fail   map[string]error // by body
	got    chan struct{}    // receives after each message
}

func newConsumer() *consumer {
	return &consumer{fail: map[string]error{}, got: make(chan struct{}, 10_000)}
}

func (c *consumer) send(_ context.Context, m outbox.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bodies = append(c.bodies, string(m.Body))
	c.got <- struct{}{}
	return c.fail[string(m.Body)]
}

// await waits until n messages have arrived, and returns the bodies so far.
func (c *consumer) await(t *testing.T, n int) []string {
	t.Helper()
	for range n {
		select {
		case <-c.got:
		case <-time.After(time.Minute):
			t.Fatalf("only %q arrived, want %d messages", c.bodies, n)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.bodies)
}

// deliver runs Deliver until the test ends, and requires that it returns nil.
func (b box) deliver(t *testing.T, client *interlock.Client, send func(context.Context, outbox.Message) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- b.Deliver(ctx, client, send) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Deliver: %v", err)
		}
	})
}

// awaitEmpty waits until every message is recorded as sent.
func (b box) awaitEmpty(t *testing.T) {
	t.Helper()
	for range 6000 {
		if n, err := b.Waiting(t.Context()); err != nil {
			t.Fatal(err)
		} else if n == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("some messages are still stored after a minute")
}

func TestOutbox(t *testing.T) {
	t.Parallel()
	t.Run("a message is sent if its transaction commits, and only then", func(t *testing.T) {
		t.Parallel()
		b, c := open(t), newConsumer()
		b.deliver(t, interlock.New(nil), c.send)
		undo := errors.New("undo")
		err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
			return errors.Join(b.Add(t.Context(), tx, outbox.Message{Body: []byte("undone")}), undo)
		})
		if !errors.Is(err, undo) {
			t.Fatal(err)
		}
		b.add(t, outbox.Message{Body: []byte("a")}, outbox.Message{Body: []byte("b")})
		if got := c.await(t, 2); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("got %q, want a and b", got)
		}
		b.awaitEmpty(t)
	})
	t.Run("a message arrives as it was added", func(t *testing.T) {
		t.Parallel()
		b := open(t, outbox.Table("shop_messages"))
		want := outbox.Message{ID: "m1", Topic: "order.placed", Key: "42", Body: []byte{0, 255}, Header: map[string]string{"a": "b"}}
		got := make(chan outbox.Message, 1)
		b.add(t, want)
		b.deliver(t, interlock.New(nil), func(_ context.Context, m outbox.Message) error { got <- m; return nil })
		m := <-got
		if m.ID != want.ID || m.Topic != want.Topic || m.Key != want.Key || string(m.Body) != string(want.Body) || m.Header["a"] != "b" || m.Attempts != 0 || time.Since(m.Added) > time.Hour {
			t.Errorf("got %+v, want %+v", m, want)
		}
	})
	t.Run("a transaction of database/sql adds messages as well", func(t *testing.T) {
		t.Parallel()
		b, c := open(t), newConsumer()
		db, err := sql.Open("pgx", b.url)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.AddSQL(t.Context(), tx, outbox.Message{Body: []byte("a")}); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		b.deliver(t, interlock.New(nil), c.send)
		c.await(t, 1)
	})
	t.Run("a message that fails is sent again, and later ones with its key wait for it", func(t *testing.T) {
		t.Parallel()
		b, c := open(t), newConsumer()
		c.fail["a1"] = errors.New("no route")
		b.add(t, outbox.Message{Key: "a", Body: []byte("a1")}, outbox.Message{Key: "a", Body: []byte("a2")},
			outbox.Message{Key: "b", Body: []byte("b1")}, outbox.Message{Body: []byte("c1")}, outbox.Message{Body: []byte("c2")})
		b.deliver(t, interlock.New(nil), c.send)
		if got := c.await(t, 4); !slices.Equal(got, []string{"a1", "b1", "c1", "c2"}) {
			t.Errorf("got %q, want a1 and the messages with other keys", got)
		}
		c.mu.Lock()
		delete(c.fail, "a1")
		c.mu.Unlock()
		if got := c.await(t, 2)[4:]; !slices.Equal(got, []string{"a1", "a2"}) {
			t.Errorf("got %q, want a1 and a2", got)
		}
		b.awaitEmpty(t)
	})
	t.Run("a message that becomes due while the table is read is not overtaken", func(t *testing.T) {
		t.Parallel()
		b, c := open(t, outbox.Table("slow_messages")), newConsumer()
		// Reading the message "slow" ends when the first message is due.
		_, err := b.pool.Exec(t.Context(), `ALTER TABLE slow_messages RENAME TO messages;
			CREATE FUNCTION due_after_first(own timestamptz) RETURNS timestamptz LANGUAGE plpgsql AS $$
			DECLARE first timestamptz := (SELECT due FROM messages WHERE id = 'first');
			BEGIN
				WHILE first > clock_timestamp() LOOP PERFORM pg_sleep(0.01); END LOOP;
				RETURN own;
			END $$;
			CREATE VIEW slow_messages AS SELECT number, id, topic, key, body, header, added, attempts, error,
				CASE WHEN id = 'slow' THEN due_after_first(due) ELSE due END AS due FROM messages;
			INSERT INTO messages (id, topic, key, body, header, due) VALUES
				('first', '', 'order 1', 'first', '{}', clock_timestamp() + interval '1 second'),
				('slow', '', '', 'slow', '{}', '-infinity'),
				('second', '', 'order 1', 'second', '{}', '-infinity')`)
		if err != nil {
			t.Fatal(err)
		}
		b.deliver(t, interlock.New(nil), c.send)
		got := c.await(t, 3)
		if slices.Index(got, "first") > slices.Index(got, "second") {
			t.Errorf("got %q, want first before second", got)
		}
		b.awaitEmpty(t)
	})
	t.Run("a failure with a text that cannot be stored does not block later messages", func(t *testing.T) {
		t.Parallel()
		b, c := open(t), newConsumer()
		c.fail["a"], c.fail["b"] = errors.New("no\x00route"), errors.New("no\xffroute")
		b.add(t, outbox.Message{ID: "a", Body: []byte("a")}, outbox.Message{ID: "b", Body: []byte("b")}, outbox.Message{Body: []byte("c")})
		b.deliver(t, interlock.New(nil), c.send)
		if got := c.await(t, 3); !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("got %q, want a, b and c", got)
		}
		all, err := b.Failures(t.Context(), 10)
		if err != nil || len(all) != 2 || all[0].Text != `"no\x00route"` || all[1].Text != `"no\xffroute"` {
			t.Errorf("the failures are %+v, error %v; want those of a and b", all, err)
		}
	})
	t.Run("a message that fails too often is set aside until Retry", func(t *testing.T) {
		t.Parallel()
		c := newConsumer()
		var failures []string
		b := open(t, outbox.MaxAttempts(2), outbox.OnFailure(func(m outbox.Message, err error) { failures = append(failures, m.ID+": "+err.Error()) }))
		c.fail["a1"] = errors.New("no route")
		b.add(t, outbox.Message{ID: "first", Key: "a", Body: []byte("a1")}, outbox.Message{Key: "a", Body: []byte("a2")})
		b.deliver(t, interlock.New(nil), c.send)
		c.await(t, 2)
		all := b.awaitAside(t)
		if len(all) != 1 || all[0].ID != "first" || all[0].Attempts != 2 || all[0].Text != "no route" {
			t.Errorf("the failures are %+v, want the first message after 2 attempts", all)
		}
		c.mu.Lock()
		delete(c.fail, "a1")
		c.mu.Unlock()
		if ok, err := b.Retry(t.Context(), "first"); !ok || err != nil {
			t.Fatalf("Retry: %t, %v", ok, err)
		}
		if got := c.await(t, 2); !slices.Equal(got, []string{"a1", "a1", "a1", "a2"}) {
			t.Errorf("got %q, want a1 twice before it was set aside, then a1 and a2", got)
		}
		if !slices.Equal(failures, []string{"first: no route", "first: no route"}) {
			t.Errorf("OnFailure got %q", failures)
		}
	})
	t.Run("a message that is discarded no longer holds back others", func(t *testing.T) {
		t.Parallel()
		b, c := open(t, outbox.MaxAttempts(1)), newConsumer()
		c.fail["a1"] = errors.New("no route")
		b.add(t, outbox.Message{ID: "first", Key: "a", Body: []byte("a1")}, outbox.Message{Key: "a", Body: []byte("a2")})
		b.deliver(t, interlock.New(nil), c.send)
		c.await(t, 1)
		b.awaitAside(t)
		if ok, err := b.Discard(t.Context(), "first"); !ok || err != nil {
			t.Fatalf("Discard: %t, %v", ok, err)
		}
		if ok, err := b.Discard(t.Context(), "first"); ok || err != nil {
			t.Fatalf("the second Discard: %t, %v; want false", ok, err)
		}
		if got := c.await(t, 1); got[1] != "a2" {
			t.Errorf("got %q, want a2 at last", got)
		}
	})
	t.Run("an ID that is still stored is refused", func(t *testing.T) {
		t.Parallel()
		b := open(t)
		b.add(t, outbox.Message{ID: "m1"})
		err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error { return b.Add(t.Context(), tx, outbox.Message{ID: "m1"}) })
		if err == nil || !strings.Contains(err.Error(), `"m1"`) {
			t.Errorf("Add: %v, want an error that names the ID", err)
		}
	})
	t.Run("one process at a time delivers, and another one continues", func(t *testing.T) {
		t.Parallel()
		b, first, second := open(t), newConsumer(), newConsumer()
		client := interlock.New(nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- b.Deliver(ctx, client, first.send) }()
		b.add(t, outbox.Message{Body: []byte("a")})
		first.await(t, 1)
		b.deliver(t, client, second.send)
		b.add(t, outbox.Message{Body: []byte("b")})
		first.await(t, 1)
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		b.awaitEmpty(t)
		b.add(t, outbox.Message{Body: []byte("c")})
		if got := second.await(t, 1); !slices.Equal(got, []string{"c"}) {
			t.Errorf("the second process got %q, want c", got)
		}
	})
	t.Run("a process whose database is silent gives the lock to another one", func(t *testing.T) {
		t.Parallel()
		b, first, second := open(t), newConsumer(), newConsumer()
		server, err := url.Parse(b.url)
		if err != nil {
			t.Fatal(err)
		}
		network := faultnet.New(t, server.Host)
		pool, err := pgxpool.New(t.Context(), strings.Replace(b.url, server.Host, network.Addr(), 1))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		client := interlock.New(nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- outbox.New(pool, outbox.Poll(10*time.Millisecond)).Deliver(ctx, client, first.send) }()
		b.add(t, outbox.Message{Body: []byte("a")})
		first.await(t, 1)
		b.awaitEmpty(t)
		network.BlackHole(faultnet.Replies, true)
		b.deliver(t, client, second.send)
		b.add(t, outbox.Message{Body: []byte("b")})
		if got := second.await(t, 1); !slices.Equal(got, []string{"b"}) {
			t.Errorf("the second process got %q, want b", got)
		}
		network.BlackHole(faultnet.Replies, false)
		network.Reset()
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	})
	t.Run("two databases that share an engine are both delivered", func(t *testing.T) {
		t.Parallel()
		one, two, client := open(t), open(t), interlock.New(nil)
		first, second := newConsumer(), newConsumer()
		one.deliver(t, client, first.send)
		two.deliver(t, client, second.send)
		one.add(t, outbox.Message{Body: []byte("a")})
		two.add(t, outbox.Message{Body: []byte("b")})
		first.await(t, 1)
		second.await(t, 1)
	})
	t.Run("a missing table is an error that says what to do", func(t *testing.T) {
		t.Parallel()
		b := open(t)
		other := outbox.New(b.pool, outbox.Table("not_there"))
		err := other.Deliver(t.Context(), interlock.New(nil), newConsumer().send)
		if err == nil || !strings.Contains(err.Error(), "Migrate") {
			t.Errorf("Deliver: %v, want an error that names Migrate", err)
		}
	})
}

// awaitAside waits until a message is set aside, and returns the failures.
func (b box) awaitAside(t *testing.T) []outbox.Failure {
	t.Helper()
	for range 6000 {
		all, err := b.Failures(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) > 0 && all[0].Aside {
			return all
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("no message was set aside within a minute")
	return nil
}
