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

// An inspector looks at all nodes. A lock is seen with those who hold it at most
// nodes; if nobody does, with whoever holds it at any, since that is what is left of
// one who died while it asked.
type inspector struct{ *Engine }

// Inspect implements [engine.Inspector].
func (p inspector) Inspect(ctx context.Context, key string) (engine.Lock, error) {
	seen, err := gather(ctx, p.Engine, fmt.Sprintf("inspecting %q", key), func(ctx context.Context, i int) (engine.Lock, error) {
		return p.nodes[i].can.Inspector.Inspect(ctx, key)
	})
	if err != nil {
		return engine.Lock{Key: key}, err
	}
	return p.merge(key, seen), nil
}

// Seize implements [engine.Inspector]. Nodes that are down keep what they have until
// its lease runs out; a minority of them changes nothing.
func (p inspector) ForceRelease(ctx context.Context, key string) (engine.Lock, error) {
	if err := ctx.Err(); err != nil {
		return engine.Lock{}, err
	}
	if err := p.enter(); err != nil {
		return engine.Lock{}, err
	}
	defer p.leave()
	turns := p.turns.all(key, len(p.nodes))
	seen, err := gathered(ctx, p.Engine, fmt.Sprintf("seizing %q", key), func(ctx context.Context, i int) (engine.Lock, error) {
		defer turns[i].end()
		if err := turns[i].wait(ctx); err != nil {
			return engine.Lock{}, fmt.Errorf("it still has the last call to answer: %w", engine.ErrUnavailable)
		}
		return p.nodes[i].can.Inspector.ForceRelease(ctx, key)
	})
	if err != nil {
		return engine.Lock{Key: key}, err
	}
	return p.merge(key, seen), nil
}

// merge is what several nodes see at a key.
func (p inspector) merge(key string, seen map[int]engine.Lock) engine.Lock {
	merged := engine.Lock{Key: key}
	holders := make(map[string][]engine.Holder)
	for _, l := range seen {
		merged.Listeners = max(merged.Listeners, l.Listeners)
		for _, h := range l.Holders {
			holders[h.Name] = append(holders[h.Name], h)
		}
	}
	merged.Holders = p.chosen(key, holders)
	return merged
}

// chosen are those who hold a lock, by what each node sees of them.
func (p inspector) chosen(key string, holders map[string][]engine.Holder) (all []engine.Holder) {
	for name, at := range holders {
		if len(at) >= p.need {
			return []engine.Holder{p.holder(key, name, at)}
		}
	}
	for name, at := range holders {
		all = append(all, p.holder(key, name, at))
	}
	slices.SortFunc(all, func(a, b engine.Holder) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// holder is one who holds a lock. It does so until less than most nodes say so.
func (p inspector) holder(key, name string, at []engine.Holder) engine.Holder {
	slices.SortFunc(at, func(a, b engine.Holder) int { return cmp.Compare(lasts(b), lasts(a)) })
	h := engine.Holder{Name: name, Kind: at[0].Kind, Left: at[min(p.need, len(at))-1].Left}
	for _, x := range at {
		h.Count, h.Fence = max(h.Count, x.Count), max(h.Fence, x.Fence)
	}
	if known := p.holds.find(engine.Request{Key: key, Holder: name}); known != nil && known.fence > 0 {
		h.Fence = known.fence
	}
	return h
}

// lasts is for how long a hold lasts, as a number to compare: zero means no end.
func lasts(h engine.Holder) time.Duration {
	if h.Left == 0 {
		return 1<<63 - 1
	}
	return h.Left
}

// List implements [engine.Inspector]. It goes through the nodes one by one until so
// many have answered that each majority has one among them, and looks at each lock
// everywhere, so that many are listed more than once. The cursor is which node is
// next, how many did not answer, and where to go on there.
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
		if down++; down > len(p.nodes)-p.need {
			return nil, "", fmt.Errorf("quorum: listing locks: %d of %d nodes did not answer: %w", down, len(p.nodes), err)
		}
	}
	if locks, err = p.look(ctx, at, found); err != nil {
		return nil, "", err
	}
	if inner == "" {
		at++
	}
	if at-down > len(p.nodes)-p.need {
		return locks, "", nil
	}
	return locks, fmt.Sprintf("%d.%d.%s", at, down, inner), nil
}

// page is what one node lists.
func (p inspector) page(ctx context.Context, at int, pattern, cursor string) ([]engine.Lock, string, error) {
	if err := p.enter(); err != nil {
		return nil, "", err
	}
	defer p.leave()
	ctx, cancel := context.WithTimeout(ctx, p.bound)
	defer cancel()
	return p.nodes[at].can.Inspector.List(ctx, pattern, cursor)
}

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
	return 0, 0, "", fmt.Errorf("quorum: there is no page %q: begin with an empty cursor", cursor)
}

// look sees the locks that a node has listed with the eyes of all.
func (p inspector) look(ctx context.Context, at int, found []engine.Lock) (locks []engine.Lock, err error) {
	if len(found) == 0 {
		return nil, nil
	}
	seen, err := gather(ctx, p.Engine, "listing locks", func(ctx context.Context, i int) ([]engine.Lock, error) {
		if i == at {
			return found, nil
		}
		here := make([]engine.Lock, len(found))
		for k, l := range found {
			var err error
			if here[k], err = p.nodes[i].can.Inspector.Inspect(ctx, l.Key); err != nil && engine.Temporary(err) {
				return nil, err
			}
		}
		return here, nil
	})
	if err != nil {
		return nil, err
	}
	for k, l := range found {
		here := make(map[int]engine.Lock, len(seen))
		for i := range seen {
			here[i] = seen[i][k]
		}
		locks = append(locks, p.merge(l.Key, here))
	}
	return locks, nil
}
