package interop

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A jvm is a process that runs the program in directory java.
type jvm struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer // read only after the process has exited
	done   chan struct{}

	mu      sync.Mutex
	stdin   io.WriteCloser
	last    int
	pending map[int]chan answer
	ended   bool // the process has exited
}

type answer struct {
	text string
	err  error
}

var errExited = errors.New("the Java process has exited")

// sharedJVM is the process that the tests share. The first test that needs it starts it.
var sharedJVM *jvm

var startShared = sync.OnceValues(func() (*jvm, error) {
	j, err := startJVM()
	sharedJVM = j
	return j, err
})

// startJVM starts a process with a small heap and a short start-up.
func startJVM() (*jvm, error) {
	dir, err := build()
	if err != nil {
		return nil, err
	}
	j := &jvm{pending: make(map[int]chan answer), done: make(chan struct{})}
	j.cmd = exec.Command("java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-XX:-UsePerfData", // a killed process would leave this file behind
		"-cp", filepath.Join(dir, "classes")+":"+filepath.Join(dir, "lib", "*"), "interlock.Peer")
	j.cmd.Stderr = &j.stderr
	answers, err := j.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if j.stdin, err = j.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := j.cmd.Start(); err != nil {
		return nil, err
	}
	go j.read(answers) // ends with the process; end and kill wait for it
	return j, nil
}

// read passes each answer to its caller.
func (j *jvm) read(answers io.Reader) {
	defer close(j.done)
	lines := bufio.NewScanner(answers)
	for lines.Scan() {
		var id int
		var status string
		if n, _ := fmt.Sscan(lines.Text(), &id, &status); n != 2 {
			continue // a warning from a library
		}
		a := answer{text: strings.TrimSpace(strings.SplitN(lines.Text(), " ", 3)[2])}
		if status != "ok" {
			a = answer{err: errors.New(a.text)}
		}
		j.mu.Lock()
		j.pending[id] <- a
		delete(j.pending, id)
		j.mu.Unlock()
	}
	_ = j.cmd.Wait()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended = true
	for _, c := range j.pending {
		c <- answer{err: errExited}
	}
}

// ask sends a command for a thread of a client. The thread runs its commands in order.
func (j *jvm) ask(words ...string) <-chan answer {
	c := make(chan answer, 1)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last++
	if j.ended {
		c <- answer{err: errExited}
		return c
	}
	j.pending[j.last] = c
	if _, err := fmt.Fprintf(j.stdin, "%d %s\n", j.last, strings.Join(words, " ")); err != nil {
		delete(j.pending, j.last)
		c <- answer{err: err}
	}
	return c
}

// end closes the process's input and waits until it exits.
func (j *jvm) end() error {
	_ = j.stdin.Close()
	select {
	case <-j.done:
		return nil
	case <-time.After(10 * time.Second):
		j.kill()
		return fmt.Errorf("the Java process did not exit after its input ended\n%s", &j.stderr)
	}
}

// kill kills the process with SIGKILL and waits until it has exited.
func (j *jvm) kill() {
	_ = j.cmd.Process.Kill()
	<-j.done
}

// A redissonClient is one Redisson client. Several can share a process.
type redissonClient struct {
	jvm  *jvm
	name string
}

var clientIDs atomic.Int64

// openRedisson opens a client in the shared process.
func openRedisson(t *testing.T, at servers, watchdog time.Duration) *redissonClient {
	t.Helper()
	j, err := startShared()
	if err != nil {
		t.Fatal(err)
	}
	c := openRedissonIn(t, j, at, watchdog)
	t.Cleanup(func() {
		if _, err := c.ask("main", "close"); err != nil {
			t.Error(err)
		}
	})
	return c
}

func openRedissonIn(t *testing.T, j *jvm, at servers, watchdog time.Duration) *redissonClient {
	t.Helper()
	c := &redissonClient{jvm: j, name: fmt.Sprintf("java%d", clientIDs.Add(1))}
	if _, err := c.ask("main", "open", at.url, fmt.Sprint(watchdog.Milliseconds()), cmp.Or(at.prefix, "-"), cmp.Or(at.sharded, "AUTO")); err != nil {
		t.Fatal(err)
	}
	return c
}

// callTimeout is how long an unblocked call may take.
const callTimeout = time.Minute

func (c *redissonClient) ask(thread string, words ...string) (string, error) {
	select {
	case a := <-c.jvm.ask(append([]string{c.name, thread}, words...)...):
		if a.err != nil {
			return "", fmt.Errorf("java: %s: %w", strings.Join(words, " "), a.err)
		}
		return a.text, nil
	case <-time.After(callTimeout):
		return "", fmt.Errorf("java: %s: no answer in %v", strings.Join(words, " "), callTimeout)
	}
}
