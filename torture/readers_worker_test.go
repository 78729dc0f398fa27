package torture

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/enginetest/history"
)

// readAndWrite acquires and releases a read/write lock in many goroutines for the time
// j.For. The first j.Writers of them write.
func readAndWrite(j job, c *interlock.Client, log *history.FileLog) error {
	end := time.Now().Add(j.For)
	var all sync.WaitGroup
	errs := make(chan error, j.Goroutines)
	for i := range j.Goroutines {
		j := j
		j.Kind = interlock.KindRead
		if i < j.Writers {
			j.Kind = interlock.KindWrite
		}
		all.Go(func() {
			for time.Now().Before(end) {
				if err := lockOnce(j, c, log, strconv.Itoa(i), j.keepLock); err != nil {
					errs <- err
					return
				}
				<-time.After(rand.N(j.Hold))
			}
		})
	}
	all.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return c.Close(context.Background())
	}
}

// keepLock holds a lock for a random time up to j.Hold.
func (j job) keepLock(*interlock.Hold) error {
	<-time.After(rand.N(j.Hold + 1))
	return nil
}
