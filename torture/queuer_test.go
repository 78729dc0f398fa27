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

// ask tells a process that queues up to have n more in line.
func (w *worker) ask(n int) error {
	_, err := w.orders.Write(make([]byte, n))
	return err
}

// queueUp has one more in line for every byte it is told, each of which takes the
// lock once.
func queueUp(j job, c *interlock.Client, log *history.FileLog) error {
	return queueFor(j, c, log, j.linger)
}

// buy is queueUp at a flash sale: of the tickets that a plain counter says are
// left one is sold, in two steps with a gap between them.
func buy(j job, c *interlock.Client, log *history.FileLog) error {
	opts, err := redis.ParseURL(j.Redis)
	if err != nil {
		return err
	}
	shop := redis.NewClient(opts)
	defer shop.Close()
	return queueFor(j, c, log, func(hold *interlock.Hold) error {
		ctx := context.Background()
		left, err := shop.Get(ctx, "tickets").Int()
		if err != nil || left == 0 {
			return err
		}
		if err := shop.Set(ctx, "tickets", left-1, 0).Err(); err != nil {
			return err
		}
		return shop.RPush(ctx, "sold", fmt.Sprint(left, " ", hold.Holder())).Err()
	})
}

func queueFor(j job, c *interlock.Client, log *history.FileLog, do func(*interlock.Hold) error) error {
	if err := introduce(c, j.Process); err != nil {
		return err
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed error
	orders := bufio.NewReader(os.Stdin)
	for i := 0; ; i++ {
		if _, err := orders.ReadByte(); err != nil { // no more to come
			break
		}
		all.Go(func() {
			if err := takeOnce(j, c, log, strconv.Itoa(i), do); err != nil {
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

// introduce makes the client known before it waits for anything: it is with the
// first lock that it does.
func introduce(c *interlock.Client, process string) error {
	return c.Mutex("here:"+process).Do(context.Background(), func(context.Context) error { return nil })
}

// takeOnce takes the lock, does something under it, and writes down when.
func takeOnce(j job, c *interlock.Client, log *history.FileLog, who string, do func(*interlock.Hold) error) error {
	e := history.Event{Key: j.Key, Actor: who, Shared: j.Kind == interlock.KindRead}
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
