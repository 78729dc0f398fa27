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

// A victim is a Go process that is killed while it holds a lock. It is this test binary
// with the victim in its environment.
type victim struct {
	URL   string
	Kind  string
	Key   string
	Lease time.Duration
}

const victimVariable = "INTERLOCK_INTEROP_VICTIM"

// runVictim acquires the lock and holds it until the process is killed or its parent exits.
func runVictim(text string) error {
	var v victim
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return err
	}
	e, err := redisengine.Open(context.Background(), v.URL)
	if err != nil {
		return err
	}
	g := &goActor{client: interlock.New(e, interlock.Watchdog(v.Lease)), held: make(map[lock]*interlock.Hold)}
	if err := g.lock(lock{v.Kind, v.Key}); err != nil {
		return err
	}
	fmt.Println("held")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// startVictim acquires the lock in a new process, and returns a function that kills it.
func (f *fixture) startVictim(column string, l lock) (kill func()) {
	f.t.Helper()
	if column == goToJava {
		return f.startGoVictim(l)
	}
	process, err := startJVM()
	f.must(err)
	f.t.Cleanup(process.kill)
	holder := &javaActor{java: openRedissonIn(f.t, process, f.servers, f.lease), name: "victim"}
	f.must(holder.lock(l))
	return process.kill
}

func (f *fixture) startGoVictim(l lock) (kill func()) {
	f.t.Helper()
	text, err := json.Marshal(victim{URL: f.servers.urlForGo(), Kind: l.kind, Key: l.key, Lease: f.lease})
	f.must(err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	_, err = cmd.StdinPipe() // stays open until this process exits
	f.must(err)
	out, err := cmd.StdoutPipe()
	f.must(err)
	f.must(cmd.Start())
	kill = func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	f.t.Cleanup(kill)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		f.t.Fatalf("the victim printed %q, want \"held\": %v", line, err)
	}
	return kill
}
