package torture

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/enginetest/history"
)

// addWaiters makes a queue worker add n waiters.
func (w *worker) addWaiters(n int) error {
	_, err := w.stdin.Write(make([]byte, n))
	return err
}

// queueUp starts one waiter for every byte of its input. Each acquires the lock once.
func queueUp(j job, c *interlock.Client, log *history.FileLog) error {
	return queueFor(j, c, log, j.keepLock)
}

// buyTickets is queueUp at a flash sale. Each holder sells one of the remaining tickets: it
// reads a plain counter and writes it back, so only the lock prevents overselling.
func buyTickets(j job, c *interlock.Client, log *history.FileLog) error {
	opts, err := redis.ParseURL(j.Engine)
	if err != nil {
		return err
	}
	db := redis.NewClient(opts)
	defer db.Close()
	return queueFor(j, c, log, func(hold *interlock.Hold) error {
		ctx := context.Background()
		left, err := db.Get(ctx, "tickets").Int()
		if err != nil || left == 0 {
			return err
		}
		if err := db.Set(ctx, "tickets", left-1, 0).Err(); err != nil {
			return err
		}
		return db.RPush(ctx, "sold", fmt.Sprint(left, " ", hold.Holder())).Err()
	})
}

func queueFor(j job, c *interlock.Client, log *history.FileLog, do func(*interlock.Hold) error) error {
	if err := registerClient(c, j.Process); err != nil {
		return err
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed error
	input := bufio.NewReader(os.Stdin)
	for i := 0; ; i++ {
		if _, err := input.ReadByte(); err != nil { // end of input
			break
		}
		all.Go(func() {
			if err := lockOnce(j, c, log, strconv.Itoa(i), do); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = err
			}
		})
	}
	all.Wait()
	if failed != nil {
		return failed
	}
	return c.Close(context.Background())
}

// registerClient makes the engine know the client before it waits in a queue. A client is
// registered with its first lock.
func registerClient(c *interlock.Client, process string) error {
	return c.Mutex("register:"+process).Do(context.Background(), func(context.Context) error { return nil })
}

// lockOnce acquires the lock, calls do and records the events.
func lockOnce(j job, c *interlock.Client, log *history.FileLog, actor string, do func(*interlock.Hold) error) error {
	e := history.Event{Key: j.Key, Actor: actor, Shared: j.Kind == interlock.KindRead}
	note := func(kind history.Kind) {
		e.Kind = kind
		log.Add(e)
	}
	note(history.Ask)
	_, hold, err := j.lock(c).Lock(context.Background())
	if err != nil {
		note(history.Stop)
		return err
	}
	e.Holder, e.Fence = hold.Holder(), hold.Fence()
	note(history.Enter)
	err = do(hold)
	note(history.Leave)
	if unlocked := hold.Unlock(); err == nil {
		err = unlocked
	}
	return err
}
