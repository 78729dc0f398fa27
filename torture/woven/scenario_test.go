package woven_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
	"github.com/interlock-go/interlock/weave"
)

const (
	processes = 3
	callers   = 67 // per process
	all       = processes * callers
)

// programs are the shop program with and without weaving, each built once.
var programs struct {
	dir          string
	woven, plain func() (string, error)
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		panic(err)
	}
	programs.dir = dir
	programs.woven = sync.OnceValues(func() (string, error) {
		args, err := weave.Go(context.Background(), ".", "", []string{"build", "-o", filepath.Join(dir, "woven"), "./shop"})
		if err != nil {
			return "", err
		}
		return build("woven", args...)
	})
	programs.plain = sync.OnceValues(func() (string, error) {
		return build("plain", "build", "-o", filepath.Join(dir, "plain"), "./shop")
	})
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func build(name string, args ...string) (string, error) {
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return filepath.Join(programs.dir, name), nil
}

// runPlain runs the program without weaving, and returns its exit status and output.
func runPlain(t *testing.T) (int, string) {
	t.Helper()
	program, err := programs.plain()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = []string{}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("the program started without weaving: %v\n%s", err, out)
	}
	return exit.ExitCode(), string(out)
}

// A scenario is a scenario of the shop program on its own servers.
type scenario struct {
	t        *testing.T
	name     string
	unwoven  bool
	servers  []*redistest.Server
	began    time.Time
	running  []*process
	outcomes map[string]int // calls by outcome
}

type process struct {
	*exec.Cmd
	gate     io.Closer
	out, err strings.Builder
}

func newScenario(t *testing.T, name string, servers int) *scenario {
	sc := &scenario{t: t, name: name, outcomes: map[string]int{}}
	for range servers {
		sc.servers = append(sc.servers, redistest.Start(t))
	}
	return sc
}

// server returns the server with the data.
func (sc *scenario) server() *redistest.Server { return sc.servers[0] }

// client returns a client on that server. It is closed with the test, without waiting for
// its holds.
func (sc *scenario) client() *interlock.Client {
	sc.t.Helper()
	e, err := redisengine.Open(sc.t.Context(), sc.server().URL())
	if err != nil {
		sc.t.Fatal(err)
	}
	c := interlock.New(e)
	sc.t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = c.Close(ctx)
		_ = e.Close()
	})
	return c
}

// run runs the scenario.
func (sc *scenario) run() {
	sc.t.Helper()
	sc.begin()
	sc.wait()
}

// begin starts the processes and, when all are ready, their callers.
func (sc *scenario) begin() {
	sc.t.Helper()
	program, err := programs.woven()
	if sc.unwoven {
		program, err = programs.plain()
	}
	if err != nil {
		sc.t.Fatal(err)
	}
	for i := range processes {
		args := []string{sc.name, strconv.Itoa(i), strconv.Itoa(callers)}
		for _, s := range sc.servers {
			args = append(args, s.URL())
		}
		sc.startProcess(exec.CommandContext(sc.t.Context(), program, args...))
	}
	sc.eventually("all processes are ready", func() bool { return sc.value("ready") == processes })
	sc.began = time.Now()
	for _, p := range sc.running {
		_ = p.gate.Close()
	}
}

func (sc *scenario) startProcess(cmd *exec.Cmd) {
	sc.t.Helper()
	p := &process{Cmd: cmd}
	p.Stdout, p.Stderr = &p.out, &p.err
	if sc.unwoven {
		p.Env = append(os.Environ(), "INTERLOCK_UNWOVEN=allow")
	}
	gate, err := p.StdinPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		sc.t.Fatal(err)
	}
	p.gate = gate
	sc.running = append(sc.running, p)
}

// wait waits for the processes and adds up their outcomes.
func (sc *scenario) wait() {
	sc.t.Helper()
	n := 0
	for _, p := range sc.running {
		if err := p.Wait(); err != nil {
			sc.t.Fatalf("a process failed: %v\n%s", err, p.err.String())
		}
		counts := map[string]int{}
		if err := json.Unmarshal([]byte(p.out.String()), &counts); err != nil {
			sc.t.Fatalf("the output of a process is not JSON: %v\n%s", err, p.out.String())
		}
		for outcome, calls := range counts {
			sc.outcomes[outcome] += calls
			n += calls
		}
	}
	if n != all {
		sc.t.Errorf("%d calls returned, want %d", n, all)
	}
	mode := "woven"
	if sc.unwoven {
		mode = "unwoven"
	}
	fmt.Printf("%s: %s, %d callers in %d processes, %v: %v\n", mode, sc.name, n, processes, time.Since(sc.began).Round(time.Millisecond), sc.outcomes)
}

// eventually waits until a condition is true, and fails after a minute.
func (sc *scenario) eventually(what string, condition func() bool) {
	sc.t.Helper()
	for end := time.Now().Add(time.Minute); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			sc.t.Fatalf("%s: not within 1m", what)
		}
	}
}

func (sc *scenario) wantOutcomes(want map[string]int) {
	sc.t.Helper()
	if !maps.Equal(sc.outcomes, want) {
		sc.t.Errorf("outcomes %v, want %v", sc.outcomes, want)
	}
}

// value returns a number from the database. The default is zero.
func (sc *scenario) value(key string) int {
	sc.t.Helper()
	n, _ := strconv.Atoi(sc.server().Must("GET", key))
	return n
}

func (sc *scenario) wantValue(key string, want int) {
	sc.t.Helper()
	if got := sc.value(key); got != want {
		sc.t.Errorf("%s is %d, want %d", key, got, want)
	}
}

func (sc *scenario) list(key string) []string {
	sc.t.Helper()
	return strings.FieldsFunc(sc.server().Must("LRANGE", key, "0", "-1"), func(c rune) bool { return c == '\n' })
}
