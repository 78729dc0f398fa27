package quorum

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// An inspector inspects all nodes. It shows the holder that has a majority. If none
// has, it shows every holder of any node: the remains of a caller that died while it
// acquired the lock.
type inspector struct{ *Engine }

// Inspect implements [engine.Inspector].
func (p inspector) Inspect(ctx context.Context, key string) (engine.Lock, error) {
	byNode, err := gather(ctx, p.Engine, fmt.Sprintf("inspect %q", key), func(ctx context.Context, i int) (engine.Lock, error) {
		return p.nodes[i].caps.Inspector.Inspect(ctx, key)
	})
	if err != nil {
		return engine.Lock{Key: key}, err
	}
	return p.merge(key, byNode), nil
}

// ForceRelease implements [engine.Inspector]. Nodes that are down keep the lock until
// its lease expires; a minority of them does not matter.
func (p inspector) ForceRelease(ctx context.Context, key string) (engine.Lock, error) {
	if err := ctx.Err(); err != nil {
		return engine.Lock{}, err
	}
	if err := p.begin(); err != nil {
		return engine.Lock{}, err
	}
	defer p.end()
	// An acquisition of this process that began earlier must not arrive after the
	// release.
	tickets := p.order.all(key, len(p.nodes))
	byNode, err := gatherStarted(ctx, p.Engine, fmt.Sprintf("force-release %q", key), func(ctx context.Context, i int) (engine.Lock, error) {
		defer tickets[i].end()
		if err := tickets[i].wait(ctx); err != nil {
			return engine.Lock{}, fmt.Errorf("it has not answered the previous call: %w", engine.ErrUnavailable)
		}
		return p.nodes[i].caps.Inspector.ForceRelease(ctx, key)
	})
	if err != nil {
		return engine.Lock{Key: key}, err
	}
	return p.merge(key, byNode), nil
}

// merge combines what the nodes see at a key.
func (p inspector) merge(key string, byNode map[int]engine.Lock) engine.Lock {
	merged := engine.Lock{Key: key}
	holders := make(map[string][]engine.Holder)
	for _, l := range byNode {
		merged.Listeners = max(merged.Listeners, l.Listeners)
		for _, h := range l.Holders {
			holders[h.Name] = append(holders[h.Name], h)
		}
	}
	merged.Holders = p.holders(key, holders)
	return merged
}

// holders returns the holders of a lock, from what each node sees.
func (p inspector) holders(key string, holders map[string][]engine.Holder) (all []engine.Holder) {
	for name, reports := range holders {
		if len(reports) >= p.need {
			return []engine.Holder{p.holder(key, name, reports)}
		}
	}
	for name, reports := range holders {
		all = append(all, p.holder(key, name, reports))
	}
	slices.SortFunc(all, func(a, b engine.Holder) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// holder combines what the nodes see of one holder. Left is the time for which a majority
// still has the hold.
func (p inspector) holder(key, name string, reports []engine.Holder) engine.Holder {
	slices.SortFunc(reports, func(a, b engine.Holder) int { return cmp.Compare(lasts(b), lasts(a)) })
	h := engine.Holder{Name: name, Kind: reports[0].Kind, Left: reports[min(p.need, len(reports))-1].Left}
	for _, x := range reports {
		h.Count, h.Fence = max(h.Count, x.Count), max(h.Fence, x.Fence)
	}
	// No node knows the fence of the majority, but the process that holds the lock does.
	if known := p.holds.find(engine.Request{Key: key, Holder: name}); known != nil && known.fence > 0 {
		h.Fence = known.fence
	}
	return h
}

// lasts returns the remaining lease for comparison: zero means that it does not expire.
func lasts(h engine.Holder) time.Duration {
	if h.Left == 0 {
		return 1<<63 - 1
	}
	return h.Left
}

// List implements [engine.Inspector]. It lists node by node, until every majority
// includes a listed node, and inspects each lock at all nodes. So most locks are listed
// more than once. The cursor holds the next node, the number of nodes that did not
// answer, and the node's own cursor.
func (p inspector) List(ctx context.Context, pattern, cursor string) (locks []engine.Lock, next string, err error) {
	at, down, inner, err := parseCursor(cursor, len(p.nodes))
	if err != nil {
		return nil, "", err
	}
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	found, inner, err := p.page(ctx, at, pattern, inner)
	if err != nil {
		// A node that does not answer is skipped, unless no majority is left.
		if down++; down > len(p.nodes)-p.need {
			return nil, "", fmt.Errorf("quorum: list locks: %d of %d nodes did not answer: %w", down, len(p.nodes), err)
		}
	}
	if locks, err = p.inspectListed(ctx, at, found); err != nil {
		return nil, "", err
	}
	if inner == "" {
		at++
	}
	// Every majority shares a node with those listed by now.
	if at-down > len(p.nodes)-p.need {
		return locks, "", nil
	}
	return locks, fmt.Sprintf("%d.%d.%s", at, down, inner), nil
}

// page lists one page of one node.
func (p inspector) page(ctx context.Context, at int, pattern, cursor string) ([]engine.Lock, string, error) {
	if err := p.begin(); err != nil {
		return nil, "", err
	}
	defer p.end()
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	return p.nodes[at].caps.Inspector.List(ctx, pattern, cursor)
}

// parseCursor reads a cursor. The node's own cursor is last, because it may contain dots.
func parseCursor(cursor string, nodes int) (at, down int, inner string, err error) {
	if cursor == "" {
		return 0, 0, "", nil
	}
	parts := strings.SplitN(cursor, ".", 3)
	if len(parts) == 3 {
		var errDown error
		at, err = strconv.Atoi(parts[0])
		down, errDown = strconv.Atoi(parts[1])
		if err == nil && errDown == nil && at >= 0 && at < nodes && down >= 0 {
			return at, down, parts[2], nil
		}
	}
	return 0, 0, "", fmt.Errorf("quorum: unknown cursor %q: begin with an empty one", cursor)
}

// inspectListed inspects at all nodes the locks that one node has listed.
func (p inspector) inspectListed(ctx context.Context, at int, found []engine.Lock) (locks []engine.Lock, err error) {
	if len(found) == 0 {
		return nil, nil
	}
	answers, err := gather(ctx, p.Engine, "list locks", func(ctx context.Context, i int) ([]engine.Lock, error) {
		// This node has just listed them.
		if i == at {
			return found, nil
		}
		onNode := make([]engine.Lock, len(found))
		for k, l := range found {
			var err error
			// A final error, such as ErrKind, means that this node has no such lock.
			if onNode[k], err = p.nodes[i].caps.Inspector.Inspect(ctx, l.Key); err != nil && engine.Temporary(err) {
				return nil, err
			}
		}
		return onNode, nil
	})
	if err != nil {
		return nil, err
	}
	for k, l := range found {
		byNode := make(map[int]engine.Lock, len(answers))
		for i := range answers {
			byNode[i] = answers[i][k]
		}
		locks = append(locks, p.merge(l.Key, byNode))
	}
	return locks, nil
}
