package torture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
)

// guardJobs are the jobs of processes with a guard.
var guardJobs = map[string]func(job, *interlock.Client) error{
	"guard":     guardOne,
	"crash":     crashOne,
	"store":     storeOne,
	"guard all": guardAll,
	"submit":    submit,
	"work":      workThrough,
	"load":      load,
	"register":  registerAll,
	"quota":     takeUnits,
	"locks":     recordLocks,
	"records":   recordRecords,
	"shop":      runShopServer,
}

// A step is a journal entry of a guard process.
type step struct {
	Process string
	Key     string
	Did     string
	Fence   uint64
}

// The steps of a guard process.
const (
	asked    = "asked"    // about to claim
	claimed  = "claimed"  // the claim was granted
	affected = "affected" // the effect happened
	settled  = "settled"  // the result is stored
	refused  = "refused"  // the claim was not granted
	lost     = "lost"     // the claim was lost before it was settled
)

func (j job) recordStep(key, steps string, fence uint64) error {
	return appendEntry(j.Journal, step{j.Process, key, steps, fence})
}

// guardOne claims a key and works until it loses the claim.
func guardOne(j job, c *interlock.Client) error {
	g, err := guard.New[string](c, j.Policy)
	if err != nil {
		return err
	}
	ctx, claim, err := g.Begin(context.Background(), guard.Of("ada", j.Key))
	if err != nil {
		return err
	}
	if err := j.recordStep(j.Key, claimed, claim.Fence()); err != nil {
		return err
	}
	<-ctx.Done()
	if err := claim.Complete("late"); !errors.Is(err, interlock.ErrLost) {
		return fmt.Errorf("Complete after the claim was lost: got %w, want ErrLost", err)
	}
	return j.recordStep(j.Key, lost, claim.Fence())
}

// crashOne blocks after the effect and before the settlement, to be killed there.
func crashOne(j job, c *interlock.Client) error {
	return j.runOnce(c, func() { select {} })
}

// storeOne blocks after the settlement and before it responds, to be killed there.
func storeOne(j job, c *interlock.Client) error {
	if err := j.runOnce(c, func() {}); err != nil {
		return err
	}
	if err := j.recordStep(j.Key, settled, 0); err != nil {
		return err
	}
	select {}
}

// runOnce runs the work of a key. It calls the function then after the effect, before the
// result is stored.
func (j job) runOnce(c *interlock.Client, then func()) error {
	g, err := guard.New[string](c, j.Policy)
	if err != nil {
		return err
	}
	_, err = g.Do(context.Background(), guard.Of("ada", j.Key), func(ctx context.Context) (string, error) {
		fence, _ := guard.Fence(ctx)
		if err := j.recordStep(j.Key, affected, fence); err != nil {
			return "", err
		}
		then()
		return "from " + j.Process, nil
	})
	return err
}

// guardAll works on several keys as a server does, and shuts down on SIGTERM.
func guardAll(j job, c *interlock.Client) error {
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	g, err := guard.New[string](c, j.Policy)
	if err != nil {
		return err
	}
	for i := range j.Goroutines {
		key := fmt.Sprint(j.Key, "-", i)
		_, claim, err := g.Begin(context.Background(), guard.Of("ada", key))
		if err != nil {
			return err
		}
		if i%2 == 0 { // half of the handlers finish in time
			go func() {
				<-stop.Done()
				if err := claim.Complete("in time"); err != nil {
					fmt.Fprintln(os.Stderr, "handler:", err)
				}
			}()
		}
		if err := j.recordStep(key, claimed, claim.Fence()); err != nil {
			return err
		}
	}
	<-stop.Done()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := g.Close(ctx); err == nil {
		return fmt.Errorf("Close returned no error although %d handlers were running", j.Goroutines/2)
	}
	if _, _, err := g.Begin(context.Background(), guard.Of("ada", "late")); !errors.Is(err, guard.ErrClosed) {
		return fmt.Errorf("Begin on a closed guard: got %w, want ErrClosed", err)
	}
	return nil
}
