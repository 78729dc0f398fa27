package interlock

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A LockInfo is a lock as operators see it.
type LockInfo struct {
	Key     string // prefix included
	Kind    Kind   // Read or Write by who holds it; Fair if somebody stands in line
	Holders []HolderInfo
	Waiters []WaiterInfo // who stands in line, in order

	// Listeners is how many processes wait for a lock that has no line, as far
	// as the engine can tell.
	Listeners int
}

// A HolderInfo is somebody who holds a lock.
type HolderInfo struct {
	Holder string // as in [Hold.Holder]
	Kind   Kind
	Count  int           // how often it has entered, as the engine counts
	Fence  uint64        // zero if it has none, as a holder of another library
	Left   time.Duration // what remains of its lease; zero if it has no end
	Client *ClientInfo   // the program; nil if it is not known
}

// A WaiterInfo is somebody who stands in line for a lock.
type WaiterInfo struct {
	Holder string // what it will be called as a holder
	Kind   Kind
	Left   time.Duration // for how long its place is kept unless it comes back
	Client *ClientInfo   // the program; nil if it is not known
}

// A ClientInfo is a program that uses locks: its name and process, and where it
// runs. Each [Client] makes itself known with the first lock it takes, and is
// forgotten a minute after the last one.
type ClientInfo = engine.Member

// Locks iterates over the locks that are held under the client's prefix and
// whose keys, after it, match pattern, in which * stands for any text and ? for
// any byte. An empty pattern means all of them. The iteration ends with the first
// error. Locks taken or released meanwhile may be missing, and one may come
// twice.
//
//	for lock, err := range client.Locks(ctx, "order:*") {
//
// Only what has the shape of a lock is listed, whatever else the engine keeps.
func (c *Client) Locks(ctx context.Context, pattern string) iter.Seq2[LockInfo, error] {
	return func(yield func(LockInfo, error) bool) {
		for cursor := ""; ; {
			infos, next, err := c.LocksFrom(ctx, pattern, cursor)
			if err != nil {
				yield(LockInfo{}, err)
				return
			}
			for _, info := range infos {
				if !yield(info, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			cursor = next
		}
	}
}

// LocksFrom returns some of what [Client.Locks] goes through, and where to go on:
// cursor is "" at first, and next is "" at the end. It is for those who hand a
// list out a page at a time. How long a page is, and it may be empty, the engine
// decides.
func (c *Client) LocksFrom(ctx context.Context, pattern, cursor string) (locks []LockInfo, next string, err error) {
	if pattern == "" {
		pattern = "*"
	}
	i, err := c.inspector()
	var seen []engine.Lock
	if err == nil {
		seen, next, err = i.List(ctx, literally(c.opts.prefix)+pattern, cursor)
	}
	if err == nil {
		locks, err = named(ctx, i, seen)
	}
	if err != nil {
		return nil, "", fmt.Errorf("interlock: listing locks: %w", err)
	}
	return locks, next, nil
}

// Inspect returns what is known about the lock named key. One that is free has no
// holders. If there is something else than a lock at the key, the error matches
// [ErrKind].
func (c *Client) Inspect(ctx context.Context, key string) (LockInfo, error) {
	return c.look(ctx, key, "inspecting", engine.Inspector.Inspect)
}

// ForceRelease takes the lock named key away from all who hold it, as an
// operator's last resort, and returns what it was and whose. It is free at once:
// a holder that works on learns of it within half a second, when its context ends
// with [ErrRevoked] as the reason, or when it renews, if the engine has no
// notifications. Of a lock that nobody holds it empties the line; who lives takes
// a new place. If there is something else than a lock at the key, it is left
// alone and the error matches [ErrKind].
func (c *Client) ForceRelease(ctx context.Context, key string) (LockInfo, error) {
	return c.look(ctx, key, "force-releasing", engine.Inspector.ForceRelease)
}

func (c *Client) look(ctx context.Context, key, doing string, do func(engine.Inspector, context.Context, string) (engine.Lock, error)) (LockInfo, error) {
	key = c.opts.prefix + key
	fail := func(err error) error { return fmt.Errorf("interlock: %s %q: %w", doing, key, err) }
	i, err := c.inspector()
	if err == nil {
		err = checkKey(key)
	}
	if err != nil {
		return LockInfo{}, fail(err)
	}
	lock, err := do(i, ctx, key)
	if err != nil {
		return LockInfo{}, fail(err)
	}
	infos, err := named(ctx, i, []engine.Lock{lock})
	if err != nil { // what was done is done: names are a help, no more
		infos = describe([]engine.Lock{lock}, nil)
	}
	return infos[0], nil
}

func (c *Client) inspector() (engine.Inspector, error) {
	switch i := c.core.caps.Inspector; {
	case c.opts.err != nil:
		return nil, c.opts.err
	case i == nil:
		return nil, lacks(c.core.engine, "view for operators")
	default:
		return i, nil
	}
}

// named describes locks, with the programs that hold them or wait.
func named(ctx context.Context, i engine.Inspector, locks []engine.Lock) ([]LockInfo, error) {
	seen := make(map[string]bool)
	var ids []string
	note := func(holder string) {
		if id := clientOf(holder); !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	for _, l := range locks {
		for _, h := range l.Holders {
			note(h.Name)
		}
		for _, w := range l.Waiters {
			note(w.Name)
		}
	}
	if len(ids) == 0 {
		return describe(locks, nil), nil
	}
	members, err := i.Members(ctx, ids)
	return describe(locks, members), err
}

func describe(locks []engine.Lock, members []engine.Member) []LockInfo {
	clients := make(map[string]*ClientInfo, len(members))
	for i, m := range members {
		clients[m.ID] = &members[i]
	}
	infos := make([]LockInfo, len(locks))
	for i, l := range locks {
		info := LockInfo{Key: l.Key, Kind: l.Kind, Listeners: l.Listeners}
		for _, h := range l.Holders {
			info.Holders = append(info.Holders, HolderInfo{Holder: h.Name, Kind: h.Kind, Count: h.Count,
				Fence: h.Fence, Left: h.Left, Client: clients[clientOf(h.Name)]})
		}
		for _, w := range l.Waiters {
			info.Waiters = append(info.Waiters, WaiterInfo{Holder: w.Name, Kind: w.Kind, Left: w.Left,
				Client: clients[clientOf(w.Name)]})
		}
		infos[i] = info
	}
	return infos
}

// clientOf returns the part of a holder that all of one client share.
func clientOf(holder string) string {
	if i := strings.LastIndexByte(holder, ':'); i >= 0 {
		return holder[:i]
	}
	return holder
}

var patternEscapes = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`)

// literally makes a pattern that only s itself matches.
func literally(s string) string { return patternEscapes.Replace(s) }
