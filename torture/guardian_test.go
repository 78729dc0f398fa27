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

// guardJobs are what a process does that has a guard.
var guardJobs = map[string]func(job, *interlock.Client) error{
	"guard":     guardOne,
	"crash":     crashOne,
	"store":     storeOne,
	"guard all": guardAll,
	"submit":    submit,
	"work":      workThrough,
	"load":      load,
	"register":  registerAll,
	"shop":      keepShop,
}

// A step is what a process with a guard has come to.
type step struct {
	Process string
	Key     string
	Did     string
	Fence   uint64
}

// The last step of a guardian.
const (
	asked    = "asked"    // it is about to claim
	claimed  = "claimed"  // and was granted
	affected = "affected" // the effect has happened
	settled  = "settled"  // and its result is stored
	refused  = "refused"  // it was not granted
	lost     = "lost"     // it was granted, and lost before it was settled
)

func (j job) note(key, did string, fence uint64) error {
	return note(j.Journal, step{j.Process, key, did, fence})
}

// guardOne claims a key, and works until it loses the claim.
func guardOne(j job, c *interlock.Client) error {
	g, err := guard.New[string](c, j.Policy)
	if err != nil {
		return err
	}
	ctx, claim, err := g.Begin(context.Background(), guard.Of("ada", j.Key))
	if err != nil {
		return err
	}
	if err := j.note(j.Key, claimed, claim.Fence()); err != nil {
		return err
	}
	<-ctx.Done()
	if err := claim.Complete("late"); !errors.Is(err, interlock.ErrLost) {
		return fmt.Errorf("settled after the claim was lost: %w", err)
	}
	return j.note(j.Key, lost, claim.Fence())
}

// crashOne dies after the effect, before the reply.
func crashOne(j job, c *interlock.Client) error {
	return j.once(c, func() { select {} })
}

// storeOne dies when everybody but its own caller was told.
func storeOne(j job, c *interlock.Client) error {
	if err := j.once(c, func() {}); err != nil {
		return err
	}
	if err := j.note(j.Key, settled, 0); err != nil {
		return err
	}
	select {}
}

// once does the work of a key, and then something else before it is settled.
func (j job) once(c *interlock.Client, then func()) error {
	g, err := guard.New[string](c, j.Policy)
	if err != nil {
		return err
	}
	_, err = g.Do(context.Background(), guard.Of("ada", j.Key), func(ctx context.Context) (string, error) {
		fence, _ := guard.Fence(ctx)
		if err := j.note(j.Key, affected, fence); err != nil {
			return "", err
		}
		then()
		return "from " + j.Process, nil
	})
	return err
}

// guardAll works on several keys as a server does, and shuts down when told to.
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
		if err := j.note(key, claimed, claim.Fence()); err != nil {
			return err
		}
	}
	<-stop.Done()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := g.Close(ctx); err == nil {
		return fmt.Errorf("closed although %d handlers had not finished", j.Goroutines/2)
	}
	if _, _, err := g.Begin(context.Background(), guard.Of("ada", "late")); !errors.Is(err, guard.ErrClosed) {
		return fmt.Errorf("a closed guard did not say so: %w", err)
	}
	return nil
}
