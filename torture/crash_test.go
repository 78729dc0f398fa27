package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// TestCrash kills processes at any instant of their work, and looks at what that
// does to effects which are to happen once (finding 14 of the reliability notes:
// who takes over what a dead one has begun does it twice).
//
// Each process works through keys of its own: it claims one, has an effect, which
// is a line in a file, and settles, with pauses in between. It is killed, and
// another goes on a few keys before, so that what was left undone is tried again.
func TestCrash(t *testing.T) {
	kills, floor := 600, 40 // floor: kills in each phase
	if testing.Short() {
		kills, floor = 240, 12
	}
	t.Run("held: no effect happens twice, and all unknown outcomes are listed", func(t *testing.T) {
		c := newCrash(t, guard.Policy{Name: "crash", Lease: 500 * time.Millisecond, OnUnknown: guard.Hold})
		c.kill(kills)
		c.heldOrDone()
		c.report("hold", floor)
		if n := len(c.doubles()); n > 0 {
			t.Errorf("%d keys have two effects: %v", n, c.doubles())
		}
	})
	t.Run("rerun: everything is done in the end, some of it twice", func(t *testing.T) {
		c := newCrash(t, guard.Policy{Name: "crash", Lease: 500 * time.Millisecond, OnUnknown: guard.Rerun})
		c.kill(kills)
		c.finish()
		c.report("rerun", floor)
	})
}

// A crash is processes that are killed.
type crash struct {
	*post
	journals string // a directory with a journal for each process
	kills    int

	mu     sync.Mutex
	phases tally           // kills, by what they fell into
	fences map[uint64]bool // of claims that killed processes had
	graves map[string]bool // keys at which one was killed
}

// lines are how many processes there are at a time, each with its keys.
const lines = 4

func newCrash(t *testing.T, policy guard.Policy) *crash {
	t.Helper()
	server := redistest.Start(t)
	c := &crash{
		post:     &post{place: &place{t: t, server: server}, policy: policy},
		journals: t.TempDir(),
		phases:   tally{}, fences: map[uint64]bool{}, graves: map[string]bool{},
	}
	c.other = newGuard(t, c.use(c.open(server.URL())), policy)
	return c
}

// kill kills so many processes, at random instants.
func (c *crash) kill(n int) {
	c.t.Helper()
	var wg sync.WaitGroup
	begun := time.Now()
	for line := range lines {
		wg.Go(func() {
			from := 0
			for life := range n / lines {
				w := c.live(line, life, from)
				from = max(0, c.died(w)-1)
				if life%5 == 4 { // by then most leases are over
					from = max(0, from-7)
				}
			}
		})
	}
	wg.Wait()
	c.kills = n / lines * lines
	fmt.Printf("crash: %d kills in %v\n", c.kills, time.Since(begun).Round(time.Second))
}

// live has a process work through the keys of a line from one on, and kills it.
func (c *crash) live(line, life, from int) *worker {
	process := fmt.Sprint(line, ".", life)
	w := start(c.t, job{
		Do: "work", Redis: c.server.URL(), Policy: c.policy, Journal: filepath.Join(c.journals, process),
		Process: process, Key: fmt.Sprint(line), From: from, Pause: 20 * time.Millisecond,
	})
	deadline := time.Now().Add(30 * time.Second)
	for len(c.of(w.job.Process)) == 0 && time.Now().Before(deadline) {
		time.Sleep(2 * time.Millisecond) // until it is at work
	}
	time.Sleep(rand.N(250 * time.Millisecond)) // any instant of some pieces of work
	w.kill()
	return w
}

// died writes down into which phase a kill fell, and returns the number of the key
// at which it was.
func (c *crash) died(w *worker) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	steps := c.of(w.job.Process)
	if len(steps) == 0 {
		c.t.Errorf("process %s was killed before it did anything", w.job.Process)
		return 0
	}
	last := steps[len(steps)-1]
	c.phases[c.phase(last)]++
	c.graves[last.Key] = true
	if _, err := fmt.Sscanf(last.Key, w.job.Key+"-%d", &n); err != nil {
		c.t.Error(err)
	}
	return n
}

// of returns the steps of one process.
func (c *crash) of(process string) []step {
	steps, err := entries[step](filepath.Join(c.journals, process))
	if err != nil {
		c.t.Error(err)
	}
	return steps
}

// all returns the steps of all processes.
func (c *crash) all() (steps []step) {
	journals, err := os.ReadDir(c.journals)
	if err != nil {
		c.t.Error(err)
	}
	for _, j := range journals {
		steps = append(steps, c.of(j.Name())...)
	}
	return steps
}

// The phases of a piece of work, as kills fall into them.
const (
	beforeClaim  = "before claim"
	beforeEffect = "claim to effect"
	beforeSettle = "effect to settle"
	afterSettle  = "after settle"
)

// phase tells into which phase a kill fell: from the last step that the process
// wrote down; and from the record, since it may have been killed between what it
// did and that it wrote it down.
func (c *crash) phase(last step) string {
	record := c.look(c.other, guard.Of("ada", last.Key))
	switch last.Did {
	case claimed:
		c.fences[last.Fence] = true
		return beforeEffect
	case affected:
		c.fences[last.Fence] = true
		if record.State == engine.Done && record.Fence == last.Fence {
			return afterSettle
		}
		return beforeSettle
	case settled, lost:
		return afterSettle
	case asked:
		if record.State == engine.Running && !c.fences[record.Fence] { // not of another process
			c.fences[record.Fence] = true
			return beforeEffect
		}
	}
	return beforeClaim
}

// effects counts how often each key had its effect.
func (c *crash) effects() tally {
	counts := tally{}
	for _, s := range c.all() {
		if s.Did == affected {
			counts[s.Key]++
		}
	}
	return counts
}

// doubles returns the keys that had it more than once.
func (c *crash) doubles() (keys []string) {
	for key, n := range c.effects() {
		if n > 1 {
			keys = append(keys, key)
		}
	}
	return keys
}

// heldOrDone checks, of every key that was ever tried, that what is known of it is
// what happened; and that the unknown ones are those that were claimed and never
// settled: not one less, not one more.
func (c *crash) heldOrDone() {
	c.t.Helper()
	c.wantHeld(context.Background(), c.policy.Lease+100*time.Millisecond) // until the last lease is over
	did := map[string]map[string]bool{}
	for _, s := range c.all() {
		if did[s.Key] == nil {
			did[s.Key] = map[string]bool{}
		}
		did[s.Key][s.Did] = true
	}
	listed := c.listed()
	open := c.unsettled()
	for key := range did {
		hash := c.look(c.other, guard.Of("ada", key)).Key
		_, err := c.other.Do(c.t.Context(), guard.Of("ada", key), func(context.Context) (string, error) { return "by the test", nil })
		switch unknown := open[hash]; {
		case unknown != listed[hash]:
			c.t.Errorf("%s: claimed and not settled is %v, listed as unknown is %v", key, unknown, listed[hash])
		case unknown && !c.graves[key] && !did[key][lost]:
			c.t.Errorf("%s is unknown although no process was killed at it", key)
		case unknown && did[key][settled]:
			c.t.Errorf("%s is unknown, and was settled", key)
		case unknown && !errors.Is(err, guard.ErrUnknown):
			c.t.Errorf("%s is unknown, and who asks is told %v", key, err)
		case !unknown && (did[key][claimed] || did[key][affected]) && err != nil:
			c.t.Errorf("%s was claimed, is not unknown, and its result is %v", key, err)
		}
		delete(listed, hash)
	}
	if len(listed) > 0 {
		c.t.Errorf("%d are listed as unknown that were never tried", len(listed))
	}
}

// listed returns what the guard lists as unknown.
func (c *crash) listed() map[string]bool {
	c.t.Helper()
	found := map[string]bool{}
	for s, err := range c.other.List(c.t.Context(), engine.Unknown) {
		if err != nil {
			c.t.Fatal(err)
		}
		found[s.Key] = true
	}
	return found
}

// unsettled returns the keys that were claimed and not settled, as the server has them:
// a beginning, and no lock beside it.
func (c *crash) unsettled() map[string]bool {
	c.t.Helper()
	found := map[string]bool{}
	for name := range strings.FieldsSeq(c.server.Must("KEYS", "interlock:guard:result:*")) {
		entry := c.server.Must("GET", name)
		lock := strings.Replace(name, ":result:", ":lock:", 1)
		if strings.HasPrefix(entry, "1r ") && c.server.Must("EXISTS", lock) == "0" {
			found[strings.Trim(strings.TrimPrefix(name, "interlock:guard:result:"), "{}")] = true
		}
	}
	return found
}

// finish does what is left undone, and checks that every key ends done.
func (c *crash) finish() {
	c.t.Helper()
	keys := tally{}
	for _, s := range c.all() {
		keys[s.Key]++
	}
	j := job{Journal: filepath.Join(c.journals, "last"), Process: "last"}
	for key := range keys {
		c.soon(5*time.Second, key+" is done", func() bool {
			_, err := c.other.Do(c.t.Context(), guard.Of("ada", key), func(ctx context.Context) (string, error) {
				fence, _ := guard.Fence(ctx)
				return "at last", j.note(key, affected, fence)
			})
			return err == nil
		})
		if s := c.look(c.other, guard.Of("ada", key)); s.State != engine.Done {
			c.t.Errorf("%s is %v in the end", key, s.State)
		}
	}
	if n := len(c.effects()); n != len(keys) {
		c.t.Errorf("%d of %d keys had their effect", n, len(keys))
	}
}

// report prints what happened, and demands that kills fell into every phase.
func (c *crash) report(policy string, floor int) {
	c.t.Helper()
	keys := tally{}
	for _, s := range c.all() {
		keys[s.Key]++
	}
	fmt.Printf("crash, %s: %d kills (%s %d, %s %d, %s %d, %s %d), %d keys: %d with two effects, %d unknown\n", policy, c.kills,
		beforeClaim, c.phases[beforeClaim], beforeEffect, c.phases[beforeEffect], beforeSettle, c.phases[beforeSettle], afterSettle, c.phases[afterSettle],
		len(keys), len(c.doubles()), len(c.listed()))
	total := 0
	for _, phase := range []string{beforeClaim, beforeEffect, beforeSettle, afterSettle} {
		total += c.phases[phase]
		if c.phases[phase] < floor {
			c.t.Errorf("%d kills fell into %q, want %d at least", c.phases[phase], phase, floor)
		}
	}
	if total != c.kills {
		c.t.Errorf("%d of %d kills have a phase: %v", total, c.kills, c.phases)
	}
}

// workThrough works through keys, one after the other, until it is killed.
func workThrough(j job, c *interlock.Client) error {
	g, err := guard.New[string](c, j.Policy)
	if err != nil {
		return err
	}
	for i := j.From; ; i++ {
		key := fmt.Sprint(j.Key, "-", i)
		if err := j.piece(g, key); err != nil {
			return err
		}
		j.pause()
	}
}

func (j job) pause() { time.Sleep(rand.N(j.Pause)) }

// piece is one piece of work, in steps.
func (j job) piece(g *guard.Guard[string], key string) error {
	if err := j.note(key, asked, 0); err != nil {
		return err
	}
	j.pause()
	_, claim, err := g.Begin(context.Background(), guard.Of("ada", key))
	switch {
	case errors.Is(err, guard.ErrDuplicate), errors.Is(err, guard.ErrUnknown):
		return j.note(key, refused, 0)
	case err != nil:
		return err
	}
	if _, ok := claim.Result(); ok {
		return j.note(key, refused, 0)
	}
	if err := j.note(key, claimed, claim.Fence()); err != nil {
		return err
	}
	j.pause()
	if err := j.note(key, affected, claim.Fence()); err != nil {
		return err
	}
	j.pause()
	switch err := claim.Complete("by " + j.Process); {
	case errors.Is(err, interlock.ErrLost):
		return j.note(key, lost, claim.Fence())
	case err != nil:
		return err
	}
	return j.note(key, settled, claim.Fence())
}
