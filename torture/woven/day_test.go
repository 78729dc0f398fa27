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
	callers   = 67 // in each
	all       = processes * callers
)

// shops are the program, woven and as it stands; they are built once.
var shops struct {
	dir          string
	woven, plain func() (string, error)
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		panic(err)
	}
	shops.dir = dir
	shops.woven = sync.OnceValues(func() (string, error) {
		args, err := weave.Go(context.Background(), ".", "", []string{"build", "-o", filepath.Join(dir, "woven"), "./shop"})
		if err != nil {
			return "", err
		}
		return build("woven", args...)
	})
	shops.plain = sync.OnceValues(func() (string, error) {
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
	return filepath.Join(shops.dir, name), nil
}

// refused starts the plain program, and returns its status and what it says.
func refused(t *testing.T) (int, string) {
	t.Helper()
	program, err := shops.plain()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = []string{}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("it started: %v\n%s", err, out)
	}
	return exit.ExitCode(), string(out)
}

// A day is a scenario on servers of its own.
type day struct {
	t        *testing.T
	scenario string
	unwoven  bool
	servers  []*redistest.Server
	began    time.Time
	running  []*process
	ended    map[string]int // how many calls ended in what way
}

type process struct {
	*exec.Cmd
	gate     io.Closer
	out, err strings.Builder
}

func newDay(t *testing.T, scenario string, servers int) *day {
	d := &day{t: t, scenario: scenario, ended: map[string]int{}}
	for range servers {
		d.servers = append(d.servers, redistest.Start(t))
	}
	return d
}

// server is the one that has the data.
func (d *day) server() *redistest.Server { return d.servers[0] }

// client is one on that server which leaves when the test does, with or without
// what it holds.
func (d *day) client() *interlock.Client {
	d.t.Helper()
	e, err := redisengine.Open(d.t.Context(), d.server().URL())
	if err != nil {
		d.t.Fatal(err)
	}
	c := interlock.New(e)
	d.t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = c.Close(ctx)
		_ = e.Close()
	})
	return c
}

// open runs the scenario from begin to end.
func (d *day) open() {
	d.t.Helper()
	d.begin()
	d.end()
}

// begin starts the processes, and when all are there, their callers.
func (d *day) begin() {
	d.t.Helper()
	program, err := shops.woven()
	if d.unwoven {
		program, err = shops.plain()
	}
	if err != nil {
		d.t.Fatal(err)
	}
	for i := range processes {
		args := []string{d.scenario, strconv.Itoa(i), strconv.Itoa(callers)}
		for _, s := range d.servers {
			args = append(args, s.URL())
		}
		d.start(exec.CommandContext(d.t.Context(), program, args...))
	}
	d.soon("all processes are ready", func() bool { return d.value("ready") == processes })
	d.began = time.Now()
	for _, p := range d.running {
		_ = p.gate.Close()
	}
}

func (d *day) start(cmd *exec.Cmd) {
	d.t.Helper()
	p := &process{Cmd: cmd}
	p.Stdout, p.Stderr = &p.out, &p.err
	if d.unwoven {
		p.Env = append(os.Environ(), "INTERLOCK_UNWOVEN=allow")
	}
	gate, err := p.StdinPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		d.t.Fatal(err)
	}
	p.gate = gate
	d.running = append(d.running, p)
}

// end waits for the processes, and adds up what they counted.
func (d *day) end() {
	d.t.Helper()
	n := 0
	for _, p := range d.running {
		if err := p.Wait(); err != nil {
			d.t.Fatalf("%v: %s", err, p.err.String())
		}
		counts := map[string]int{}
		if err := json.Unmarshal([]byte(p.out.String()), &counts); err != nil {
			d.t.Fatalf("%v: %s", err, p.out.String())
		}
		for how, some := range counts {
			d.ended[how] += some
			n += some
		}
	}
	if n != all {
		d.t.Errorf("%d calls ended, want %d", n, all)
	}
	how := "woven"
	if d.unwoven {
		how = "unwoven"
	}
	fmt.Printf("%s: %s, %d callers in %d processes, %v: %v\n", how, d.scenario, n, processes, time.Since(d.began).Round(time.Millisecond), d.ended)
}

// soon waits until something becomes true, and fails if it does not.
func (d *day) soon(what string, so func() bool) {
	d.t.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			d.t.Fatalf("%s: not within a minute", what)
		}
	}
}

func (d *day) want(ended map[string]int) {
	d.t.Helper()
	if !maps.Equal(d.ended, ended) {
		d.t.Errorf("calls ended as %v, want %v", d.ended, ended)
	}
}

// value is a number in the database; what was never written is zero.
func (d *day) value(key string) int {
	d.t.Helper()
	n, _ := strconv.Atoi(d.server().Must("GET", key))
	return n
}

func (d *day) wantValue(key string, want int) {
	d.t.Helper()
	if got := d.value(key); got != want {
		d.t.Errorf("%s is %d, want %d", key, got, want)
	}
}

func (d *day) list(key string) []string {
	d.t.Helper()
	return strings.FieldsFunc(d.server().Must("LRANGE", key, "0", "-1"), func(c rune) bool { return c == '\n' })
}
