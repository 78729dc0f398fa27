package zookeeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/keystate"
)

// page is how many documents fill a page. A page ends with a whole bucket, so it may be
// longer.
const page = 100

// maxGroup is how many buckets are read at once. A page begins with one, and doubles the
// number: many documents then fill it at once, and few do not cost a round trip for each
// bucket.
const maxGroup = 16

// List implements [engine.Inspector].
func (e *Engine) List(ctx context.Context, pattern, cursor string) (locks []engine.Lock, next string, err error) {
	next, err = e.list(ctx, keystate.Locks, pattern, cursor, func(s keystate.State, now int64) {
		if l, ok := keystate.LockOf(s, now); ok {
			locks = append(locks, l)
		}
	})
	return locks, next, err
}

// list calls add for the documents of a directory whose keys match pattern, until a page
// is full or half of the time has passed. The cursor is the number of the next bucket. If a
// later bucket cannot be read, the page ends before it, and the next page begins with it.
func (e *Engine) list(ctx context.Context, dir, pattern, cursor string, add func(s keystate.State, now int64)) (next string, _ error) {
	if err := e.usable(ctx); err != nil {
		return "", err
	}
	from, err := strconv.Atoi(cmp.Or(cursor, "0"))
	if err != nil || from < 0 || from >= buckets {
		return "", fmt.Errorf("zookeeper: unknown cursor %q: begin with an empty one", cursor)
	}
	start := time.Now()
	at, err := e.present(ctx, pattern)
	if err != nil {
		return "", err
	}
	begun := false
	for read, group := 0, 1; from < buckets && read < page; group = min(2*group, maxGroup) {
		if begun && time.Since(start) > e.timeout/2 {
			break // the next page has the whole time again
		}
		to := min(from+group, buckets)
		nodes, err := within(ctx, start.Add(e.timeout), e, pattern, func() ([]*node, error) { return e.readBuckets(dir, pattern, from, to) })
		if err != nil && begun {
			break
		}
		if err != nil {
			return "", readFailure(pattern, err)
		}
		for _, n := range nodes {
			s, now := n.stateAt(at)
			add(s, now.Now)
		}
		from, read, begun = to, read+len(nodes), true
	}
	if from >= buckets {
		return "", nil
	}
	return strconv.Itoa(from), nil
}

// present returns the leader's time after the call of it. The call ends with ctx or after
// the engine's timeout.
func (e *Engine) present(ctx context.Context, key string) (keystate.Moment, error) {
	until, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	if err := e.session.wait(until); err != nil {
		return keystate.Moment{}, e.endedEarly(ctx, key)
	}
	at, err := e.clock.read(until, e)
	switch {
	case err != nil && until.Err() != nil:
		return keystate.Moment{}, e.endedEarly(ctx, key)
	case err != nil:
		return keystate.Moment{}, readFailure(key, err)
	}
	return at, nil
}

// readBuckets reads the documents in some buckets whose keys match pattern.
func (e *Engine) readBuckets(dir, pattern string, from, to int) (nodes []*node, _ error) {
	lists := make([][]string, to-from)
	errs := keystate.EachIndex(len(lists), func(i int) (err error) {
		lists[i], err = e.children(e.bucket(dir, from+i))
		return err
	})
	var keys []string
	for _, names := range lists {
		for _, name := range names {
			if key, ok := unescape(name); ok && engine.Match(pattern, key) {
				keys = append(keys, key)
			}
		}
	}
	found := make([]*node, len(keys))
	errs = append(errs, keystate.EachIndex(len(keys), func(i int) (err error) {
		found[i], err = e.get(dir, keys[i])
		if errors.Is(err, engine.ErrKind) {
			return nil // another program's node is no lock
		}
		return err
	})...)
	for _, n := range found {
		if n != nil {
			nodes = append(nodes, n)
		}
	}
	return nodes, errors.Join(errs...)
}

// children returns the names of the nodes in a bucket. A bucket that does not exist has
// none.
func (e *Engine) children(path string) ([]string, error) {
	names, err := request(e, "list", func(conn *zk.Conn) ([]string, error) {
		names, _, err := conn.Children(path)
		return names, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, failure("", "list", err)
	}
	return names, nil
}

// Inspect implements [engine.Inspector].
func (e *Engine) Inspect(ctx context.Context, key string) (engine.Lock, error) {
	return e.operate(ctx, keystate.DoInspect, key)
}

// ForceRelease implements [engine.Inspector].
func (e *Engine) ForceRelease(ctx context.Context, key string) (engine.Lock, error) {
	return e.operate(ctx, keystate.DoForceRelease, key)
}

// operate executes an operator's command.
func (e *Engine) operate(ctx context.Context, do, key string) (engine.Lock, error) {
	if err := e.checkKey(ctx, key); err != nil {
		return engine.Lock{}, err
	}
	l, err := ask[engine.Lock](ctx, e, keystate.Locks, key, keystate.Command{Do: do})
	if err == nil && l.Listeners == 0 && e.topics.subscribed(topicName(keystate.KindTopic(key, engine.Exclusive))) {
		l.Listeners = 1
	}
	return l, err
}

// Watch implements [engine.Inspector].
func (e *Engine) Watch(id string) (wake <-chan struct{}, stop func()) {
	return e.topics.subscribe(topicName(keystate.ClientTopic(id)))
}
