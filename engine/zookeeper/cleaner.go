package zookeeper

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-go/interlock/internal/keystate"
)

const (
	cleanEvery  = time.Second      // how often the cleaner looks for documents that are due
	orphanEvery = 30 * time.Second // how often it removes watches without a subscriber
	sweepEvery  = 10 * time.Minute // how often one engine of the ensemble looks at all documents

	// slack is how much later than expected a document is removed. The clock of this
	// process only decides when to look, so it need not be exact.
	slack = 500 * time.Millisecond
	// longWait is after how long a document is looked at again that stays.
	longWait = time.Hour
)

// A cleaner removes documents in which everything has expired. Each engine removes those
// that it has written; one engine at a time looks for those of processes that ended.
type cleaner struct {
	mu  sync.Mutex
	due map[documentName]time.Time
}

// A documentName names a document.
type documentName struct{ dir, key string }

// schedule looks at a document again when it should be empty.
func (c *cleaner) schedule(dir, key string, n *node) {
	last := n.state.Lasts()
	if last == 0 && !n.state.Vacant() {
		return // it does not expire
	}
	wait := min(keystate.Duration(last-n.at.Now), longWait) + slack
	if n.state.Vacant() && !keystate.Removable(n.state, keystate.Moment{ID: n.at.ID + 1}) { // it stays for the fences that it has reserved
		wait = time.Minute
	}
	c.put(documentName{dir, key}, time.Now().Add(wait))
}

// put looks at a document again at a time.
func (c *cleaner) put(d documentName, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due[d] = at
}

// cancel forgets a document that was removed.
func (c *cleaner) cancel(dir, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.due, documentName{dir, key})
}

// take returns the documents that are due, and forgets them.
func (c *cleaner) take() (due []documentName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for d, at := range c.due {
		if !now.Before(at) {
			due = append(due, d)
			delete(c.due, d)
		}
	}
	return due
}

// clean runs until the engine is closed.
func (e *Engine) clean() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tick := time.NewTicker(cleanEvery)
	defer tick.Stop()
	lastOrphans, lastSweep := time.Now(), time.Now()
	for {
		select {
		case <-e.closing:
			return
		case now := <-tick.C:
			e.tidyDue(ctx)
			if now.Sub(lastOrphans) >= orphanEvery {
				lastOrphans = now
				_ = e.signal(e.topics.takeOrphans())
			}
			if now.Sub(lastSweep) >= sweepEvery {
				lastSweep = now
				e.tasks.Start(func() { e.sweep(ctx) }) // may take minutes
			}
		}
	}
}

// tidyDue removes the documents that are due, several at once. It reads the clock first, so
// that the removal of one that has expired is a single request.
func (e *Engine) tidyDue(ctx context.Context) {
	due := e.cleaner.take()
	if len(due) == 0 {
		return
	}
	if _, err := e.present(ctx, due[0].key); err != nil { // the others would fail as well
		for _, d := range due {
			e.cleaner.put(d, time.Now())
		}
		return
	}
	keystate.Each(due, func(d *documentName) error {
		e.tidy(ctx, *d)
		return nil
	})
}

// tidy removes a document if nothing is left in it, or schedules it again. A document that
// another engine has changed since this one last read it is left to that engine.
func (e *Engine) tidy(ctx context.Context, d documentName) {
	path := e.path(d.dir, d.key)
	before := e.cache.get(path)
	if _, err := e.run(ctx, d.dir, d.key, keystate.Command{Do: keystate.DoTidy}); errors.Is(err, errClosed) {
		return
	}
	if n := e.cache.get(path); n != nil && before != nil && n.at == before.at {
		e.cleaner.schedule(d.dir, d.key, n)
	}
}

// sweep removes the empty documents of processes that have ended, if no other engine
// does that now.
func (e *Engine) sweep(ctx context.Context) {
	path := e.root + "/janitor"
	_, err := request(e, "create", func(conn *zk.Conn) (string, error) { return conn.Create(path, nil, zk.FlagEphemeral, e.acl) })
	if err != nil {
		return
	}
	for _, dir := range []string{keystate.Locks, keystate.Records, keystate.Quotas, keystate.Clients, resultsDir} {
		for n := range buckets {
			names, err := e.children(e.bucket(dir, n))
			if dir == resultsDir {
				e.sweepResults(e.bucket(dir, n), names)
				continue
			}
			e.sweepBucket(ctx, dir, names)
			if err != nil || e.isClosing() {
				break
			}
		}
	}
	_, _ = request(e, "delete", func(conn *zk.Conn) (struct{}, error) { return struct{}{}, conn.Delete(path, -1) })
}

// sweepBucket removes the empty documents of a bucket. It reads the clock once: most
// documents stay, and each is only read.
func (e *Engine) sweepBucket(ctx context.Context, dir string, names []string) {
	if len(names) == 0 {
		return
	}
	at, err := e.present(ctx, dir)
	if err != nil {
		return
	}
	keystate.Each(names, func(name *string) error {
		key, ok := unescape(*name)
		if !ok || e.isClosing() {
			return nil
		}
		if n, err := e.get(dir, key); err == nil && n != nil && n.removable(at) {
			e.tidy(ctx, documentName{dir, key})
		}
		return nil
	})
}

// isClosing reports whether Close was called.
func (e *Engine) isClosing() bool {
	select {
	case <-e.closing:
		return true
	default:
		return false
	}
}
