package torture

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
)

// TestEngineHistories records the answers of PostgreSQL, MySQL, etcd and ZooKeeper to calls from
// three processes, with lost replies and cut connections, and checks that the histories of
// locks of every kind and of records are linearizable (requirements R2 and R3). It also
// requires a minimum number of grants and faults.
func TestEngineHistories(t *testing.T) {
	for name, start := range startTarget {
		t.Run(name, func(t *testing.T) {
			server := start(t)
			for what, model := range map[string]porcupine.Model{"locks": lockModel(), "records": recordModel()} {
				t.Run(what, func(t *testing.T) {
					h := newProcessHistory(t, server, what)
					h.joins = name == "etcd"
					h.run(t)
					h.check(t, model)
				})
			}
		})
	}
}

// A processHistory is a history that several processes record, each with a connection of its
// own to the server.
type processHistory struct {
	recorder
	answers string // file
	joins   bool   // an acquire may have two parts
	workers []*worker
	proxies []*faultnet.Proxy
	lost    int // replies that the processes did not get, on purpose
	cuts    int // requests of which the reply was cut off with the connection
}

// newProcessHistory starts the processes.
func newProcessHistory(t *testing.T, server target, what string) *processHistory {
	t.Helper()
	const processes, goroutines = 3, 8
	h := &processHistory{answers: filepath.Join(t.TempDir(), "answers")}
	h.wanted, h.results = 30_000, make(map[string]int)
	if testing.Short() {
		h.wanted = 3_000
	}
	for i := range processes {
		proxy := faultnet.New(t, server.addr)
		h.proxies = append(h.proxies, proxy)
		h.workers = append(h.workers, start(t, job{
			Do: what, Engine: server.through(proxy.Addr(), "timeout=5s"), Process: fmt.Sprint(i), Goroutines: goroutines,
			Calls: h.wanted / processes, From: i * 10_000_000, Answers: h.answers, Journal: fmt.Sprint(h.answers, i),
		}))
	}
	return h
}

// run waits until all processes are ready, lets them begin, and cuts their connections when
// they ask for it.
func (h *processHistory) run(t *testing.T) {
	t.Helper()
	ended := make(chan error, len(h.workers))
	running := len(h.workers)
	handled := make([]int64, len(h.workers))
	for _, w := range h.workers {
		go func() { ended <- w.Wait() }() // ends with the process, which the test kills
	}
	for running > 0 {
		for i, w := range h.workers {
			file, err := os.Stat(w.job.Journal)
			if err != nil || file.Size() == handled[i] {
				continue
			}
			handled[i]++
			if handled[i] > 1 {
				h.cuts++
				h.proxies[i].CutAfterRequest()
			} else if !slices.Contains(handled, 0) {
				for _, w := range h.workers {
					_ = w.stdin.Close()
				}
				h.start = time.Now()
			}
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			running--
		case <-time.After(5 * time.Millisecond): // poll interval
		}
	}
}

// joins returns the first parts of those acquires that may have two: etcd writes the queue
// position of a request that is refused, and grants the request in another transaction if the
// lock has become free meanwhile. Others may see the position in between.
func joins(ops []porcupine.Operation) (first []porcupine.Operation) {
	for _, op := range ops {
		if c := op.Input.(call); c.op == "acquire" && c.queued && c.kind != engine.Exclusive {
			c.op = opJoin
			op.Input, op.Output = c, answer{result: unknown}
			first = append(first, op)
		}
	}
	return first
}

// check joins what the processes recorded, and checks it.
func (h *processHistory) check(t *testing.T, model porcupine.Model) {
	t.Helper()
	parts, err := readEntries[recording](h.answers)
	if err != nil || len(parts) != len(h.workers) {
		t.Fatalf("%d processes wrote their operations, want %d: %v", len(parts), len(h.workers), err)
	}
	var ops []porcupine.Operation
	for _, p := range parts {
		h.lost += p.Lost
		for _, o := range p.Operations {
			ops = append(ops, o.replayed())
			h.results[o.Result]++
		}
	}
	if least := h.wanted / 100; h.lost < least {
		t.Errorf("the processes lost %d replies, want at least %d", h.lost, least)
	}
	fmt.Printf("%s: 3 processes, %d replies lost, %d connections cut%s\n", t.Name(), h.lost, h.cuts, doneOnce(t, ops))
	if h.joins {
		ops = append(ops, joins(ops)...)
	}
	slices.SortFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	h.faultEvery = 100
	checkHistory(t, model, &h.recorder, ops, h.cuts)
}

// doneOnce checks that the work of each key was done by one attempt, and returns how much work
// that was. Locks have none.
func doneOnce(t *testing.T, ops []porcupine.Operation) string {
	t.Helper()
	by := make(map[string]int)
	for _, op := range ops {
		c := op.Input.(call)
		if c.op != opSettle || op.Output.(answer).result != engine.Released.String() {
			continue
		}
		if first, again := by[c.key]; again && first != c.attempt {
			t.Errorf("the work of %s was done by the attempts %d and %d, want one", c.key, first, c.attempt)
		}
		by[c.key] = c.attempt
	}
	if len(by) == 0 {
		return ""
	}
	return fmt.Sprintf(", the work of %d keys done once", len(by))
}
