package interlockgocron_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/gocron"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/guard"
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

// stormWindow is half the interval of the jobs.
const stormWindow = 500 * time.Millisecond

// storm runs a job every second until its standard input ends.
func storm(url, path string) error {
	e, err := redisengine.Open(context.Background(), url)
	if err != nil {
		return err
	}
	task, err := interlockgocron.Once(interlock.New(e), guard.Policy{Name: "report", Window: stormWindow}, func(ctx context.Context) error {
		fence, _ := guard.Fence(ctx)
		return write(path, fmt.Sprint("run ", fence))
	})
	if err != nil {
		return err
	}
	s, err := gocron.NewScheduler()
	if err != nil {
		return err
	}
	_, err = s.NewJob(gocron.CronJob("* * * * * *", true), task, gocron.WithEventListeners(
		gocron.AfterJobRunsWithError(func(_ uuid.UUID, _ string, err error) {
			line := "skip"
			if !errors.Is(err, guard.ErrDuplicate) {
				line = fmt.Sprint("error ", err)
			}
			_ = write(path, line)
		})))
	if err != nil {
		return err
	}
	s.Start()
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, s.Shutdown())
}

// Three processes on one Redis run a job every second. One of them runs it each time.
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
	fmt.Printf("gocron: %d runs in three processes, %d skips\n", runs, skipped)
	if strings.Contains(string(text), "error") {
		t.Errorf("a job failed:\n%s", text)
	}
	var fences []int64 // the times of the claims in microseconds, by the clock of the server
	for line := range strings.Lines(string(text)) {
		var fence int64
		if _, err := fmt.Sscanf(line, "run %d", &fence); err == nil {
			fences = append(fences, fence)
		}
	}
	slices.Sort(fences)
	for i := range fences[1:] {
		if d := time.Duration(fences[i+1]-fences[i]) * time.Microsecond; d < stormWindow {
			t.Errorf("two runs are %v apart, want at least %v", d, stormWindow)
		}
	}
}
