package database

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/postgres"
	"github.com/interlock-go/interlock/engine/postgres/outbox"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/internal/testing/postgrestest"
)

// A job is the task of a child process, which is this test binary with the job in its
// environment.
type job struct {
	Do     string // a key of jobs
	URL    string
	Keyset int
	From   int // number of the first key
	To     int // number after the last key
	Calls  int
}

const jobVariable = "INTERLOCK_DATABASE_JOB"

var jobs = map[string]func(context.Context, job, *site) error{
	"charge":   chargeAll,
	"register": registerAll,
	"deliver":  deliverAll,
}

func TestMain(m *testing.M) {
	text, ok := os.LookupEnv(jobVariable)
	if !ok {
		os.Exit(postgrestest.Main(m))
	}
	if err := work(text); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// work runs a job.
func work(text string) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	ctx := context.Background()
	if strings.HasPrefix(j.URL, "mysql:") {
		s, err := newMySQLSite(ctx, j.URL)
		if err != nil {
			return err
		}
		s.step = showStep
		return s.chargeAll(ctx, j)
	}
	s, err := newSite(ctx, j.URL)
	if err != nil {
		return err
	}
	s.step = showStep
	return jobs[j.Do](ctx, j, s)
}

// showStep prints a step of a charge.
func showStep(what rune) {
	_, _ = fmt.Printf("%c", what)
	time.Sleep(rand.N(2 * time.Millisecond)) // the process may be killed meanwhile
}

// A site is a process of a shop: its database, its engine, and guards on it.
type site struct {
	pool   *pgxpool.Pool
	engine *postgres.Engine
	client *interlock.Client
	charge *guard.Guard[string]
	signUp *guard.Guard[string]
	accept *guard.Guard[string]
	box    *outbox.Outbox
	step   func(rune) // called at each step of a charge
}

// newSite connects to a database.
func newSite(ctx context.Context, url string) (*site, error) {
	pool, err := pgxpool.New(ctx, url+"&pool_max_conns=10")
	if err != nil {
		return nil, err
	}
	s := &site{pool: pool, step: func(rune) {}, engine: postgres.New(pool, postgres.Timeout(30*time.Second))}
	s.client = interlock.New(s.engine, interlock.Watchdog(2*time.Second)) // so that another process soon delivers after a kill
	s.box = outbox.New(pool, outbox.Poll(20*time.Millisecond))
	all := func(g **guard.Guard[string], p guard.Policy) {
		if err == nil {
			*g, err = guard.New[string](s.client, p)
		}
	}
	all(&s.charge, guard.Policy{Name: "charge", Scope: guard.Global})
	all(&s.signUp, guard.Policy{Name: "sign-up", Scope: guard.Global, OnDuplicate: guard.Wait, Wait: time.Minute})
	all(&s.accept, guard.Policy{Name: "accept", Scope: guard.Global, OnDuplicate: guard.Wait, Wait: time.Minute})
	return s, err
}

// The steps of a charge, which a process prints as it takes them.
const (
	stepClaimed = 'c'
	stepWorked  = 'w'
	stepSettled = 's'
)

func chargeKey(keyset, n int) guard.Key { return guard.ID(fmt.Sprintf("%d-%d", keyset, n)) }

// chargeAll charges the keys of a keyset, one after the other.
func chargeAll(ctx context.Context, j job, s *site) error {
	for n := j.From; n < j.To; n++ {
		if err := s.chargeOnce(ctx, j.Keyset, n); err != nil {
			return err
		}
	}
	return nil
}

// chargeOnce inserts one row as the effect of a key.
func (s *site) chargeOnce(ctx context.Context, keyset, n int) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		defer s.step(stepSettled) // BeginFunc commits next
		key := chargeKey(keyset, n)
		_, err := s.charge.DoTx(ctx, s.engine.Tx(tx), key, func(ctx context.Context) (string, error) {
			s.step(stepClaimed)
			_, err := tx.Exec(ctx, "INSERT INTO charges VALUES ($1)", key.ID)
			s.step(stepWorked)
			return key.ID, err
		})
		return err
	})
}

// registerAll registers one phone number many times at once, as soon as its standard input
// is closed.
func registerAll(ctx context.Context, j job, s *site) error {
	if err := s.pool.Ping(ctx); err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := io.ReadAll(os.Stdin); err != nil {
		return err
	}
	var all sync.WaitGroup
	var failed atomic.Pointer[error]
	for i := range j.Calls {
		all.Go(func() {
			if err := s.register(ctx, fmt.Sprintf("%d/%d", os.Getpid(), i)); err != nil {
				failed.Store(&err)
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// register registers the phone number for one caller, and records which account it got.
func (s *site) register(ctx context.Context, caller string) error {
	var account string
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) (err error) {
		account, err = s.signUp.DoTx(ctx, s.engine.Tx(tx), guard.ID("+86 138 0000 0000"), func(ctx context.Context) (string, error) {
			_, err := tx.Exec(ctx, "INSERT INTO accounts VALUES ($1, '+86 138 0000 0000')", caller)
			return caller, err
		})
		return err
	})
	if err != nil {
		return err
	}
	_, err = s.pool.Exec(ctx, "INSERT INTO answers VALUES ($1)", account)
	return err
}

// deliverAll delivers messages until the process is killed or its standard input is closed.
func deliverAll(ctx context.Context, _ job, s *site) error {
	ctx, cancel := context.WithCancel(ctx)
	go func() { // ends with the process
		_, _ = io.ReadAll(os.Stdin)
		cancel()
	}()
	return s.box.Deliver(ctx, s.client, s.consume)
}

// consume is the consumer of the messages: it inserts one row for each message.
func (s *site) consume(ctx context.Context, m outbox.Message) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		_, err := s.accept.DoTx(ctx, s.engine.Tx(tx), guard.ID(m.ID), func(ctx context.Context) (string, error) {
			_, err := tx.Exec(ctx, "INSERT INTO accepted VALUES ($1)", m.ID)
			return "", err
		})
		return err
	})
}

// A worker is a child process with a job.
type worker struct {
	*exec.Cmd
	stdin  io.Closer
	stdout *bufio.Reader
}

// start runs a job in a child process, which is killed when the test ends.
func start(t *testing.T, j job) *worker {
	t.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), jobVariable+"="+string(text)), os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{cmd, stdin, bufio.NewReader(stdout)}
	t.Cleanup(w.kill)
	return w
}

// kill kills the process with SIGKILL, unless it has ended.
func (w *worker) kill() {
	if w.ProcessState == nil {
		_ = w.Process.Kill()
		_ = w.Cmd.Wait()
	}
}

// end closes the standard input of the process, and requires that it succeeds.
func (w *worker) end(t *testing.T) {
	t.Helper()
	_ = w.stdin.Close()
	if err := w.Cmd.Wait(); err != nil {
		t.Errorf("a process failed: %v", err)
	}
}
