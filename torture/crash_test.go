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

// TestCrash kills processes at random instants and counts the effect of each key. With
// OnUnknown hold, an effect never happens twice. With rerun it may: another process takes
// over the key of a dead process and repeats its effect.
//
// Each process works through its own keys: it claims a key, writes a line to a file
// as the effect, and settles, with pauses in between. After a kill the next process
// starts a few keys earlier, so that unfinished keys are retried.
func TestCrash(t *testing.T) {
	kills, floor := 600, 40 // floor is the least number of kills in each phase
	if testing.Short() {
		kills, floor = 240, 12
	}
	t.Run("hold: no effect happens twice, and all unknown outcomes are listed", func(t *testing.T) {
		c := newCrashTest(t, guard.Policy{Name: "crash", Lease: 500 * time.Millisecond, OnUnknown: guard.Hold})
		c.kill(kills)
		c.checkHeld()
		c.report("hold", floor)
		if n := len(c.doubledKeys()); n > 0 {
			t.Errorf("%d keys have more than one effect, want none: %v", n, c.doubledKeys())
		}
	})
	t.Run("rerun: every key is done in the end, some of them twice", func(t *testing.T) {
		c := newCrashTest(t, guard.Policy{Name: "crash", Lease: 500 * time.Millisecond, OnUnknown: guard.Rerun})
		c.kill(kills)
		c.finishAll()
		c.report("rerun", floor)
	})
}

// A crashTest kills processes and collects their journals.
type crashTest struct {
	*guardFixture
	journals string // directory with one journal per process
	kills    int

	mu         sync.Mutex
	phases     tally           // kills by phase
	fences     map[uint64]bool // fences of the claims of killed processes
	killedKeys map[string]bool // keys that a killed process worked on
}

// keysets is the number of concurrent processes. Each has its own set of keys.
const keysets = 4

func newCrashTest(t *testing.T, policy guard.Policy) *crashTest {
	t.Helper()
	server := redistest.Start(t)
	c := &crashTest{
		guardFixture: &guardFixture{fixture: &fixture{t: t, server: server}, policy: policy},
		journals:     t.TempDir(),
		phases:       tally{}, fences: map[uint64]bool{}, killedKeys: map[string]bool{},
	}
	c.other = newGuard(t, c.newClient(c.openEngine(server.URL())), policy)
	return c
}

// kill kills n processes at random instants.
func (c *crashTest) kill(n int) {
	c.t.Helper()
	var wg sync.WaitGroup
	begun := time.Now()
	for keyset := range keysets {
		wg.Go(func() {
			from := 0
			for life := range n / keysets {
				w := c.runAndKill(keyset, life, from)
				from = max(0, c.recordKill(w)-1)
				if life%5 == 4 { // by then most leases have expired
					from = max(0, from-7)
				}
			}
		})
	}
	wg.Wait()
	c.kills = n / keysets * keysets
	fmt.Printf("crash: %d kills in %v\n", c.kills, time.Since(begun).Round(time.Second))
}

// runAndKill starts a process that works through a keyset, beginning at key number
// from, and kills it.
func (c *crashTest) runAndKill(keyset, life, from int) *worker {
	process := fmt.Sprint(keyset, ".", life)
	w := start(c.t, job{
		Do: "work", Engine: c.server.URL(), Policy: c.policy, Journal: filepath.Join(c.journals, process),
		Process: process, Key: fmt.Sprint(keyset), From: from, Pause: 20 * time.Millisecond,
	})
	deadline := time.Now().Add(30 * time.Second)
	for len(c.stepsOf(w.job.Process)) == 0 && time.Now().Before(deadline) {
		time.Sleep(2 * time.Millisecond) // until it has started
	}
	time.Sleep(rand.N(250 * time.Millisecond)) // a random instant within a few keys
	w.kill()
	return w
}

// recordKill counts the phase in which a process was killed, and returns the number of
// its last key.
func (c *crashTest) recordKill(w *worker) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	steps := c.stepsOf(w.job.Process)
	if len(steps) == 0 {
		c.t.Errorf("process %s was killed before its first step", w.job.Process)
		return 0
	}
	last := steps[len(steps)-1]
	c.phases[c.phase(last)]++
	c.killedKeys[last.Key] = true
	if _, err := fmt.Sscanf(last.Key, w.job.Key+"-%d", &n); err != nil {
		c.t.Error(err)
	}
	return n
}

// stepsOf returns the steps of one process.
func (c *crashTest) stepsOf(process string) []step {
	steps, err := readEntries[step](filepath.Join(c.journals, process))
	if err != nil {
		c.t.Error(err)
	}
	return steps
}

// allSteps returns the steps of all processes.
func (c *crashTest) allSteps() (steps []step) {
	journals, err := os.ReadDir(c.journals)
	if err != nil {
		c.t.Error(err)
	}
	for _, j := range journals {
		steps = append(steps, c.stepsOf(j.Name())...)
	}
	return steps
}

// The phases in which a process can be killed.
const (
	beforeClaim  = "before claim"
	beforeEffect = "claim to effect"
	beforeSettle = "effect to settle"
	afterSettle  = "after settle"
)

// phase returns the phase in which a process was killed. Its last journal entry may be
// one step behind, so phase also reads the server's record.
func (c *crashTest) phase(last step) string {
	record := c.lookup(c.other, guard.Of("ada", last.Key))
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
		if record.State == engine.Running && !c.fences[record.Fence] { // not the claim of another process
			c.fences[record.Fence] = true
			return beforeEffect
		}
	}
	return beforeClaim
}

// effects counts the effects per key.
func (c *crashTest) effects() tally {
	counts := tally{}
	for _, s := range c.allSteps() {
		if s.Did == affected {
			counts[s.Key]++
		}
	}
	return counts
}

// doubledKeys returns the keys with more than one effect.
func (c *crashTest) doubledKeys() (keys []string) {
	for key, n := range c.effects() {
		if n > 1 {
			keys = append(keys, key)
		}
	}
	return keys
}

// checkHeld compares the outcome of every key with the journals. Exactly the keys that
// were claimed and never settled must be unknown.
func (c *crashTest) checkHeld() {
	c.t.Helper()
	time.Sleep(c.policy.Lease + 100*time.Millisecond) // until the last lease has expired
	step := map[string]map[string]bool{}
	for _, s := range c.allSteps() {
		if step[s.Key] == nil {
			step[s.Key] = map[string]bool{}
		}
		step[s.Key][s.Did] = true
	}
	listed := c.listed()
	open := c.unsettled()
	for key := range step {
		hash := c.lookup(c.other, guard.Of("ada", key)).Key
		_, err := c.other.Do(c.t.Context(), guard.Of("ada", key), func(context.Context) (string, error) { return "by the test", nil })
		switch unknown := open[hash]; {
		case unknown != listed[hash]:
			c.t.Errorf("%s: claimed but not settled: %v; listed as unknown: %v", key, unknown, listed[hash])
		case unknown && !c.killedKeys[key] && !step[key][lost]:
			c.t.Errorf("%s is unknown, but no process was killed while working on it", key)
		case unknown && step[key][settled]:
			c.t.Errorf("%s is unknown, but was settled", key)
		case unknown && !errors.Is(err, guard.ErrUnknown):
			c.t.Errorf("%s is unknown, but a caller got %v", key, err)
		case !unknown && (step[key][claimed] || step[key][affected]) && err != nil:
			c.t.Errorf("%s was claimed and is not unknown, but a caller got %v", key, err)
		}
		delete(listed, hash)
	}
	if len(listed) > 0 {
		c.t.Errorf("%d keys are listed as unknown, although no process used them", len(listed))
	}
}

// listed returns the keys that the guard lists as unknown.
func (c *crashTest) listed() map[string]bool {
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

// unsettled returns the keys that were claimed and not settled. On the server such a key
// has a started record and no lock.
func (c *crashTest) unsettled() map[string]bool {
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

// finishAll runs the unfinished keys and checks that every key is done.
func (c *crashTest) finishAll() {
	c.t.Helper()
	keys := tally{}
	for _, s := range c.allSteps() {
		keys[s.Key]++
	}
	j := job{Journal: filepath.Join(c.journals, "last"), Process: "last"}
	for key := range keys {
		c.eventually(5*time.Second, key+" is done", func() bool {
			_, err := c.other.Do(c.t.Context(), guard.Of("ada", key), func(ctx context.Context) (string, error) {
				fence, _ := guard.Fence(ctx)
				return "at last", j.recordStep(key, affected, fence)
			})
			return err == nil
		})
		if s := c.lookup(c.other, guard.Of("ada", key)); s.State != engine.Done {
			c.t.Errorf("%s is %v after the last run, want Done", key, s.State)
		}
	}
	if n := len(c.effects()); n != len(keys) {
		c.t.Errorf("%d of %d keys have an effect, want all", n, len(keys))
	}
}

// report prints the counts and checks that each phase had at least floor kills.
func (c *crashTest) report(policy string, floor int) {
	c.t.Helper()
	keys := tally{}
	for _, s := range c.allSteps() {
		keys[s.Key]++
	}
	fmt.Printf("crash, %s: %d kills (%s %d, %s %d, %s %d, %s %d), %d keys: %d with two effects, %d unknown\n", policy, c.kills,
		beforeClaim, c.phases[beforeClaim], beforeEffect, c.phases[beforeEffect], beforeSettle, c.phases[beforeSettle], afterSettle, c.phases[afterSettle],
		len(keys), len(c.doubledKeys()), len(c.listed()))
	total := 0
	for _, phase := range []string{beforeClaim, beforeEffect, beforeSettle, afterSettle} {
		total += c.phases[phase]
		if c.phases[phase] < floor {
			c.t.Errorf("%d kills in phase %q, want at least %d", c.phases[phase], phase, floor)
		}
	}
	if total != c.kills {
		c.t.Errorf("%d of %d kills have a known phase, want all: %v", total, c.kills, c.phases)
	}
}

// workThrough processes one key after another until the process is killed.
func workThrough(j job, c *interlock.Client) error {
	g, err := guard.New[string](c, j.Policy)
	if err != nil {
		return err
	}
	for i := j.From; ; i++ {
		key := fmt.Sprint(j.Key, "-", i)
		if err := j.workOnce(g, key); err != nil {
			return err
		}
		j.sleep()
	}
}

func (j job) sleep() { time.Sleep(rand.N(j.Pause)) }

// workOnce claims one key, records its effect and settles it.
func (j job) workOnce(g *guard.Guard[string], key string) error {
	if err := j.recordStep(key, asked, 0); err != nil {
		return err
	}
	j.sleep()
	_, claim, err := g.Begin(context.Background(), guard.Of("ada", key))
	switch {
	case errors.Is(err, guard.ErrDuplicate), errors.Is(err, guard.ErrUnknown):
		return j.recordStep(key, refused, 0)
	case err != nil:
		return err
	}
	if _, ok := claim.Result(); ok {
		return j.recordStep(key, refused, 0)
	}
	if err := j.recordStep(key, claimed, claim.Fence()); err != nil {
		return err
	}
	j.sleep()
	if err := j.recordStep(key, affected, claim.Fence()); err != nil {
		return err
	}
	j.sleep()
	switch err := claim.Complete("by " + j.Process); {
	case errors.Is(err, interlock.ErrLost):
		return j.recordStep(key, lost, claim.Fence())
	case err != nil:
		return err
	}
	return j.recordStep(key, settled, claim.Fence())
}
