package interop

import (
	"bufio"
	"bytes"
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

// A jvm is a process that runs the program in the directory java.
type jvm struct {
	cmd  *exec.Cmd
	said bytes.Buffer // on standard error; read only once it has been waited for
	done chan struct{}

	mu     sync.Mutex
	orders io.WriteCloser
	last   int
	asked  map[int]chan answer
	over   bool // no more answers will come
}

type answer struct {
	text string
	err  error
}

var errGone = errors.New("the Java process has ended")

// shared is the process that the tests share, once one has asked for it.
var shared *jvm

var start = sync.OnceValues(func() (*jvm, error) {
	j, err := run()
	shared = j
	return j, err
})

// run starts a process. It is small and quick to be there.
func run() (*jvm, error) {
	dir, err := build()
	if err != nil {
		return nil, err
	}
	j := &jvm{asked: make(map[int]chan answer), done: make(chan struct{})}
	j.cmd = exec.Command("java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-XX:-UsePerfData", // a file that a kill would leave behind
		"-cp", filepath.Join(dir, "classes")+":"+filepath.Join(dir, "lib", "*"), "interlock.Peer")
	j.cmd.Stderr = &j.said
	answers, err := j.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if j.orders, err = j.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := j.cmd.Start(); err != nil {
		return nil, err
	}
	go j.read(answers) // ends with the process, which end or kill waits for
	return j, nil
}

// read passes answers on to those who asked.
func (j *jvm) read(answers io.Reader) {
	defer close(j.done)
	lines := bufio.NewScanner(answers)
	for lines.Scan() {
		var id int
		var how string
		if n, _ := fmt.Sscan(lines.Text(), &id, &how); n != 2 {
			continue // a warning of some library
		}
		a := answer{text: strings.TrimSpace(strings.SplitN(lines.Text(), " ", 3)[2])}
		if how != "ok" {
			a = answer{err: errors.New(a.text)}
		}
		j.mu.Lock()
		j.asked[id] <- a
		delete(j.asked, id)
		j.mu.Unlock()
	}
	_ = j.cmd.Wait()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.over = true
	for _, c := range j.asked {
		c <- answer{err: errGone}
	}
}

// ask has an order carried out in a thread of a client, after those before it.
func (j *jvm) ask(words ...string) <-chan answer {
	c := make(chan answer, 1)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last++
	if j.over {
		c <- answer{err: errGone}
		return c
	}
	j.asked[j.last] = c
	if _, err := fmt.Fprintf(j.orders, "%d %s\n", j.last, strings.Join(words, " ")); err != nil {
		delete(j.asked, j.last)
		c <- answer{err: err}
	}
	return c
}

// end lets the process end by itself, and waits for it.
func (j *jvm) end() error {
	_ = j.orders.Close()
	select {
	case <-j.done:
		return nil
	case <-time.After(10 * time.Second):
		j.kill()
		return fmt.Errorf("the Java process did not end with its input\n%s", &j.said)
	}
}

// kill ends the process as a crash would, and waits until it is gone.
func (j *jvm) kill() {
	_ = j.cmd.Process.Kill()
	<-j.done
}

// A java is one Redisson, in a process that it may share with others.
type java struct {
	jvm  *jvm
	name string
}

var javas atomic.Int64

// openJava opens a Redisson in the process that the tests share.
func openJava(t *testing.T, url string, watchdog time.Duration) *java {
	t.Helper()
	j, err := start()
	if err != nil {
		t.Fatal(err)
	}
	c := openJavaIn(t, j, url, watchdog)
	t.Cleanup(func() {
		if _, err := c.ask("main", "close"); err != nil {
			t.Error(err)
		}
	})
	return c
}

func openJavaIn(t *testing.T, j *jvm, url string, watchdog time.Duration) *java {
	t.Helper()
	c := &java{jvm: j, name: fmt.Sprintf("java%d", javas.Add(1))}
	if _, err := c.ask("main", "open", url, fmt.Sprint(watchdog.Milliseconds())); err != nil {
		t.Fatal(err)
	}
	return c
}

// patience is how long an answer may take that nothing is in the way of.
const patience = time.Minute

func (c *java) ask(thread string, words ...string) (string, error) {
	select {
	case a := <-c.jvm.ask(append([]string{c.name, thread}, words...)...):
		if a.err != nil {
			return "", fmt.Errorf("java: %s: %w", strings.Join(words, " "), a.err)
		}
		return a.text, nil
	case <-time.After(patience):
		return "", fmt.Errorf("java: %s: no answer in %v", strings.Join(words, " "), patience)
	}
}
