package torture

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
)

// A recording is the part of a history that one process recorded.
type recording struct {
	Operations []operation
	Lost       int // replies that the process did not get, on purpose
}

// An operation is an operation of a history in a file.
type operation struct {
	Op, Key       string
	Attempt       int
	Kind          engine.Kind
	Queued        bool
	Limit         int
	Result        string
	Fence         uint64
	Ahead, By     int
	Begin, Return int64
}

func recorded(op porcupine.Operation) operation {
	c, a := op.Input.(call), op.Output.(answer)
	return operation{c.op, c.key, c.attempt, c.kind, c.queued, c.limit, a.result, a.fence, a.ahead, a.by, op.Call, op.Return}
}

func (o operation) replayed() porcupine.Operation {
	return porcupine.Operation{
		Input:  call{op: o.Op, key: o.Key, attempt: o.Attempt, kind: o.Kind, queued: o.Queued, limit: o.Limit},
		Output: answer{result: o.Result, fence: o.Fence, ahead: o.Ahead, by: o.By},
		Call:   o.Begin, Return: o.Return,
	}
}

// remoteTimeout is how long a call may take whose connection may be cut.
const remoteTimeout = time.Second

// lockFamilies are the kinds of requests for the locks of a history; each lock is of one
// family.
var lockFamilies = [][]engine.Kind{
	{engine.Exclusive}, {engine.Fair, engine.Fair, engine.Exclusive}, {engine.Read, engine.Read, engine.Write}, {engine.Permit},
}

// recordLocks is a process that records a part of a history of locks of every kind.
func recordLocks(j job, c *interlock.Client) error {
	faults := lockFaults(remoteTimeout)
	return j.record(c, faults, func(r *recorder) {
		key := rand.IntN(keys / 2)
		kinds := lockFamilies[key%len(lockFamilies)]
		r.newTry(randomRequest(fmt.Sprint("linear:", key), kinds, key/len(lockFamilies)%2 == 0)).run()
	})
}

// recordRecords is a process that records a part of a history of records. It works on a few
// keys at a time, and so do the other processes.
func recordRecords(j job, c *interlock.Client) error {
	faults := []enginetest.Fault{
		{Op: enginetest.OpClaim, Do: enginetest.LoseReply, Times: 1},
		{Op: enginetest.OpClaim, Do: enginetest.Delay, After: remoteTimeout * 4 / 3, Times: 1}, // arrives after its abandon
		{Op: enginetest.OpSettle, Do: enginetest.LoseReply, Times: 1},
	}
	return j.record(c, faults, func(r *recorder) {
		r.newWork(fmt.Sprint("work:", r.progress()/3+rand.IntN(6))).runWork()
	})
}

// record makes attempts until enough operations are recorded, and writes them to a file. It
// loses replies itself. For every hundredth operation it appends a byte to its journal, so
// that the test cuts its connection.
func (j job) record(c *interlock.Client, faults []enginetest.Fault, attempt func(*recorder)) error {
	cuts, err := os.Create(j.Journal)
	if err != nil {
		return err
	}
	defer cuts.Close()
	faulty := enginetest.NewFaulty(arrivalRecorder{c.Engine()})
	r := &recorder{engine: faulty, wanted: j.Calls, callTimeout: remoteTimeout, attempts: j.From, faultEvery: 20}
	var injected atomic.Int64
	r.injectFault = func() {
		faulty.Heal() // removes a fault that hit no call
		faulty.Inject(faults[rand.IntN(len(faults))])
		if injected.Add(1)%5 == 0 {
			_, _ = cuts.Write([]byte{'.'})
		}
	}
	if _, err := cuts.WriteString("."); err != nil { // the process is ready
		return err
	}
	if _, err := io.ReadAll(os.Stdin); err != nil { // until all are
		return err
	}
	r.recordTries(j.Goroutines, func() { attempt(r) })
	faulty.Wait()
	ops, err := r.history()
	if err != nil {
		return err
	}
	part := recording{Lost: faulty.Fired()}
	for _, op := range ops {
		part.Operations = append(part.Operations, recorded(op))
	}
	return appendEntry(j.Answers, part)
}

// progress returns the number of operations so far.
func (r *recorder) progress() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ops)
}
