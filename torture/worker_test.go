package torture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest/history"
	"github.com/interlock-go/interlock/guard"
)

// A job is the task of a child process. A child process is this test binary with the job
// in its environment.
type job struct {
	Do         string // a key of jobs or guardJobs
	Engine     string // URL
	Standby    string // URL of the standby, if any
	History    string // file
	Process    string // its name in the history or journal
	Key        string
	Kind       interlock.Kind
	Limit      int // number of permits
	Goroutines int
	Writers    int           // number of goroutines that write
	For        time.Duration // how long the process runs
	Hold       time.Duration // longest time that a lock is held
	Lease      time.Duration // lease without renewal, if set
	Watchdog   time.Duration // renewed lease, if set

	Policy  guard.Policy // of the guard, for guardJobs
	Journal string       // file
	Table   string       // database file
	From    int          // number of the first key, or of the first attempt
	Pause   time.Duration
	Calls   int    // number of operations to record
	Answers string // file with the recorded operations
}

const jobVariable = "INTERLOCK_TORTURE_JOB"

var jobs = map[string]func(job, *interlock.Client, *history.FileLog) error{
	"contend": contend,
	"hold":    holdOn,
	"serve":   serve,
	"queue":   queueUp,
	"buy":     buyTickets,
	"share":   readAndWrite,
	"follow":  follow,
}

func TestMain(m *testing.M) {
	text, ok := os.LookupEnv(jobVariable)
	if !ok {
		os.Exit(m.Run())
	}
	if err := work(text); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// A worker is a child process with a job.
type worker struct {
	*exec.Cmd
	job   job
	stdin io.WriteCloser
}

// start runs j in a child process, which is killed when the test ends.
func start(t *testing.T, j job) *worker {
	t.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{Cmd: cmd, job: j, stdin: stdin}
	t.Cleanup(w.kill)
	return w
}

// kill kills the process with SIGKILL, unless it has exited.
func (w *worker) kill() {
	if w.ProcessState == nil {
		_ = w.Process.Kill()
		_ = w.Wait()
	}
}

func work(text string) (err error) {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	e, closeAll, err := j.open()
	if err != nil {
		return err
	}
	defer closeAll()
	opts := []interlock.Option{interlock.Name(j.Process)}
	if j.Lease > 0 {
		opts = append(opts, interlock.Lease(j.Lease))
	}
	if j.Watchdog > 0 {
		opts = append(opts, interlock.Watchdog(j.Watchdog))
	}
	c := interlock.New(e, opts...)
	if do, ok := guardJobs[j.Do]; ok {
		return do(j, c)
	}
	log, err := history.OpenFile(j.History, j.Process)
	if err != nil {
		return err
	}
	if err := jobs[j.Do](j, c, log); err != nil {
		return err
	}
	return log.Close()
}

// open returns the engine of the job.
func (j job) open() (e engine.Engine, closeAll func(), err error) {
	first, err := openEngine(context.Background(), j.Engine)
	if err != nil {
		return nil, nil, err
	}
	if j.Standby == "" {
		return first, func() { _ = first.Close() }, nil
	}
	return j.openBoth(first)
}

// contend acquires and releases one lock in many goroutines for the time j.For.
func contend(j job, c *interlock.Client, log *history.FileLog) error {
	ctx, cancel := context.WithTimeout(context.Background(), j.For)
	defer cancel()
	var wg sync.WaitGroup
	errs := make(chan error, j.Goroutines)
	for i := range j.Goroutines {
		wg.Go(func() {
			actor := strconv.Itoa(i)
			for ctx.Err() == nil {
				if err := contendOnce(ctx, c.Mutex(j.Key), log, actor); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return c.Close(context.Background())
	}
}

// contendOnce acquires and releases the lock once and records the events.
func contendOnce(ctx context.Context, m *interlock.Mutex, log *history.FileLog, actor string) error {
	log.Add(history.Event{Kind: history.Ask, Key: m.Key(), Actor: actor})
	held, hold, err := m.Lock(ctx)
	if err != nil {
		log.Add(history.Event{Kind: history.Stop, Key: m.Key(), Actor: actor})
		if ctx.Err() == nil {
			return err
		}
		return nil //nolint:nilerr // the end of the test is not a failure
	}
	log.Add(history.Event{Kind: history.Enter, Key: m.Key(), Actor: actor, Fence: hold.Fence()})
	if errors.Is(context.Cause(held), interlock.ErrLost) {
		log.Add(history.Event{Kind: history.Lost, Key: m.Key(), Actor: actor})
	} else {
		log.Add(history.Event{Kind: history.Leave, Key: m.Key(), Actor: actor})
	}
	return hold.Unlock()
}

// lock returns the lock of the job.
func (j job) lock(c *interlock.Client) interlock.Locker {
	switch j.Kind {
	case interlock.KindFair:
		return c.Mutex(j.Key, interlock.Fair())
	case interlock.KindRead:
		return c.RWMutex(j.Key).Read()
	case interlock.KindWrite:
		return c.RWMutex(j.Key).Write()
	case interlock.KindPermit:
		return c.Semaphore(j.Key, j.Limit).Permit()
	}
	return c.Mutex(j.Key)
}

// holdOn acquires the lock, or one permit per goroutine, and holds it until it is lost.
func holdOn(j job, c *interlock.Client, log *history.FileLog) error {
	lost, lose := context.WithCancel(context.Background())
	defer lose()
	for i := range max(1, j.Goroutines) {
		actor := fmt.Sprint("holder", i)
		log.Add(history.Event{Kind: history.Ask, Key: j.Key, Actor: actor})
		ctx, hold, err := j.lock(c).Lock(context.Background())
		if err != nil {
			return err
		}
		log.Add(history.Event{Kind: history.Enter, Key: j.Key, Actor: actor, Fence: hold.Fence()})
		context.AfterFunc(ctx, lose)
	}
	<-lost.Done()
	log.Add(history.Event{Kind: history.Lost, Key: j.Key})
	return nil
}

// serve holds locks as a server does, and shuts down on SIGTERM.
func serve(j job, c *interlock.Client, log *history.FileLog) error {
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	for i := range j.Goroutines {
		key := fmt.Sprintf("%s:%d", j.Key, i)
		log.Add(history.Event{Kind: history.Ask, Key: key, Actor: "server"})
		_, hold, err := c.Mutex(key).Lock(context.Background())
		if err != nil {
			return err
		}
		log.Add(history.Event{Kind: history.Enter, Key: key, Actor: "server", Fence: hold.Fence()})
		if i%2 == 0 { // half of the handlers finish in time
			go func() {
				<-stop.Done()
				log.Add(history.Event{Kind: history.Leave, Key: key, Actor: "server"})
				_ = hold.Unlock()
			}()
		}
	}
	<-stop.Done()
	ctx, cancel := context.WithTimeout(context.Background(), j.For)
	defer cancel()
	if err := c.Close(ctx); err == nil {
		return fmt.Errorf("Close returned no error although %d handlers were running", j.Goroutines/2)
	}
	if _, _, err := c.Mutex(j.Key + ":late").Lock(context.Background()); err == nil {
		return fmt.Errorf("a closed client acquired a lock")
	}
	return nil
}
