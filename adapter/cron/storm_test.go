package interlockcron_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/cron"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/child"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// stormRedis and stormFile are set for a process that TestStorm starts: the URL of its
// Redis, and the file to which its jobs write.
const stormRedis, stormFile = "INTERLOCK_STORM_REDIS", "INTERLOCK_STORM_FILE"

func TestMain(m *testing.M) {
	url := os.Getenv(stormRedis)
	if url == "" {
		os.Exit(m.Run())
	}
	if err := storm(url, os.Getenv(stormFile)); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// write appends a line to a file that several processes write to.
func write(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// storm runs a job every second until its standard input ends.
func storm(url, path string) error {
	e, err := redisengine.Open(context.Background(), url)
	if err != nil {
		return err
	}
	c := cron.New(cron.WithSeconds())
	_, err = interlockcron.New(c, interlock.New(e), skips(path)).AddFunc("* * * * * *", policy, func(context.Context) error {
		return write(path, fmt.Sprint("run ", os.Getpid()))
	})
	if err != nil {
		return err
	}
	c.Start()
	_, err = io.Copy(io.Discard, os.Stdin)
	<-c.Stop().Done()
	return err
}

// skips is a cron.Logger that writes the jobs that are skipped to a file.
type skips string

func (s skips) Info(string, ...any) { _ = write(string(s), "skip") }

func (s skips) Error(err error, msg string, _ ...any) {
	_ = write(string(s), fmt.Sprint("error ", msg, ": ", err))
}

// Three processes on one Redis run a job every second. Each activation runs once.
func TestStorm(t *testing.T) {
	child.SkipIfShort(t, "runs jobs for 10 seconds")
	server := redistest.Start(t)
	path := t.TempDir() + "/log"
	var workers []*child.Process
	for range 3 {
		workers = append(workers, child.Self(t, nil, stormRedis+"="+server.URL(), stormFile+"="+path))
	}
	deadline := time.Now().Add(90 * time.Second)
	var runs, skipped int
	var text []byte
	for runs < 8 || skipped < 8 {
		if time.Now().After(deadline) {
			t.Fatalf("%d runs and %d skips in 90 seconds, want 8:\n%s", runs, skipped, text)
		}
		time.Sleep(100 * time.Millisecond)
		text, _ = os.ReadFile(path)
		runs, skipped = strings.Count(string(text), "run "), strings.Count(string(text), "skip")
	}
	for _, p := range workers {
		if err := p.End(); err != nil || p.Log() != "" {
			t.Errorf("a worker printed %q; %v", p.Log(), err)
		}
	}
	text, _ = os.ReadFile(path)
	runs, skipped = strings.Count(string(text), "run "), strings.Count(string(text), "skip")
	activations := len(strings.Fields(server.Must("KEYS", "*guard:result*")))
	fmt.Printf("cron: %d activations in three processes: %d runs, %d skips\n", activations, runs, skipped)
	if runs != activations || strings.Contains(string(text), "error") {
		t.Errorf("%d runs for %d activations, want one each:\n%s", runs, activations, text)
	}
}
