package interop

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
)

// TestFairOrder queues waiters of both languages alternately. They are served in order.
func TestFairOrder(t *testing.T) {
	f := newFixture(t, interlock.DefaultLease)
	f.bothDirections(func(f *fixture, d direction) {
		const waiters = 8
		l := f.newLock("fair")
		first := d.holder()
		f.must(first.lock(l))

		served := make(chan int, waiters)
		done := make(chan error, waiters)
		for i := range waiters {
			a := d.waiter()
			if i%2 == 1 {
				a = d.holder()
			}
			go func() { // ends after its turn; the wait is bounded
				err := a.lock(l)
				served <- i
				if err == nil {
					err = a.unlock(l)
				}
				done <- err
			}()
			f.waitForQueue(l, i+1)
		}
		f.must(first.unlock(l))
		for range waiters {
			f.must(<-done)
		}
		close(served)
		var order []int
		for i := range served {
			order = append(order, i)
		}
		if !slices.IsSorted(order) {
			f.t.Errorf("served in the order %v, want ascending", order)
		}
		table.record("fair order, alternating", d.name, "%d alternating, in order", waiters)
	})
}

// TestFairWaitersThatGiveUp releases a lock while Java's first two waiters give up. They
// leave the queue without passing on the message, so Java's third waiter sleeps for the
// lease. A Go waiter behind finds the lock free and notifies that third waiter.
func TestFairWaitersThatGiveUp(t *testing.T) {
	t.Parallel()
	const patience = 10 * time.Second
	f := newFixture(t, longLease)
	l := f.newLock("fair")
	process, err := startJVM()
	f.must(err)
	t.Cleanup(process.kill)
	java := openRedissonIn(t, process, f.servers, f.lease)

	holder := f.goActor()
	f.must(holder.lock(l))
	gaveUp := make(chan error, 2)
	for i := range 2 {
		go func() { // the wait is bounded
			got, err := (&javaActor{java, fmt.Sprint("impatient", i)}).try(l, patience)
			if got {
				err = errors.New("an impatient waiter got the lock, want a refusal")
			}
			gaveUp <- err
		}()
		f.waitForQueue(l, i+1)
	}
	queued := time.Now()
	patient, last := &javaActor{java, "patient"}, f.goActor()
	gotPatient := f.lockInBackground(patient, l)
	f.waitForQueue(l, 3)
	gotLast := f.lockInBackground(last, l)
	f.waitForQueue(l, 4)
	f.waitForSubscribers(l, 5)         // Go has two channels
	time.Sleep(500 * time.Millisecond) // a waiter asks again after it has subscribed, then sleeps

	f.stop(process)
	f.must(holder.unlock(l))
	time.Sleep(time.Until(queued.Add(patience)))
	f.must(process.cmd.Process.Signal(syscall.SIGCONT))
	for range 2 {
		f.must(<-gaveUp)
	}
	began := time.Now()
	took := (<-gotPatient).Sub(began)
	if t.Failed() {
		t.Fatalf("the lock is free, and the waiter in Java that did not give up did not get it within %v", callTimeout)
	}
	table.record("fair waiters give up", goToJava, "the next in Java has it after %v", rounded(took))
	f.must(patient.unlock(l))
	<-gotLast
	f.must(last.unlock(l))
}

// stop pauses a Java process, and waits until all its threads stand still.
func (f *fixture) stop(j *jvm) {
	f.t.Helper()
	f.must(j.cmd.Process.Signal(syscall.SIGSTOP))
	f.until("a process that stands still", func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", j.cmd.Process.Pid))
		f.must(err)
		return !slices.ContainsFunc(threads, func(name string) bool {
			text, err := os.ReadFile(name)
			_, state, _ := strings.Cut(string(text), ") ") // the name of the thread is in brackets
			return err == nil && !strings.HasPrefix(state, "T")
		})
	})
}
