package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/redisengine"
)

// A victim is a process of ours that takes a lock and is killed with it: this
// test binary again, told what to do by the environment.
type victim struct {
	URL   string
	Kind  string
	Key   string
	Lease time.Duration
}

const victimVariable = "INTERLOCK_INTEROP_VICTIM"

// suffer is the work of such a process. It ends on its own only if its parent is gone.
func suffer(text string) error {
	var v victim
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return err
	}
	e, err := redisengine.Open(context.Background(), v.URL+redisson)
	if err != nil {
		return err
	}
	g := &gopher{client: interlock.New(e, interlock.Watchdog(v.Lease)), held: make(map[lock]*interlock.Hold)}
	if err := g.lock(lock{v.Kind, v.Key}); err != nil {
		return err
	}
	fmt.Println("held")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// dieWith takes the lock in a process of Go or of Java, and returns how to kill it.
func (s *scene) dieWith(column string, l lock) (kill func()) {
	s.t.Helper()
	if column == goToJava {
		return s.goVictim(l)
	}
	j, err := run()
	s.must(err)
	s.t.Cleanup(j.kill)
	p := &thread{java: openJavaIn(s.t, j, s.server.URL(), s.lease), name: "victim"}
	s.must(p.lock(l))
	return j.kill
}

func (s *scene) goVictim(l lock) (kill func()) {
	s.t.Helper()
	text, err := json.Marshal(victim{URL: s.server.URL(), Kind: l.kind, Key: l.key, Lease: s.lease})
	s.must(err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	_, err = cmd.StdinPipe() // open for as long as this process lives
	s.must(err)
	out, err := cmd.StdoutPipe()
	s.must(err)
	s.must(cmd.Start())
	kill = func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	s.t.Cleanup(kill)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		s.t.Fatalf("the process that was to hold the lock said %q: %v", line, err)
	}
	return kill
}
