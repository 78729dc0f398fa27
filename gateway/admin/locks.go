package admin

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/interlock-go/interlock"
)

// A Lock is a lock and its holders.
type Lock struct {
	Key       string   `json:"key" doc:"Without the gateway's namespace. Escape it before you print it."`
	Kind      string   `json:"kind" doc:"exclusive, fair, read, write or permit." example:"fair"`
	Holders   []Holder `json:"holders"`
	Waiters   int      `json:"waiters" doc:"How many callers are in the queue."`
	Listeners int      `json:"listeners" doc:"How many processes wait outside of the queue, as far as the engine knows."`
}

// A LockDetail is a Lock with its queue.
type LockDetail struct {
	Lock
	Queue []Waiter `json:"queue" doc:"The waiters, in order."`
}

// A Holder is a holder of a lock.
type Holder struct {
	Owner  string   `json:"owner" doc:"A hash of the holder's id: with the id itself, a client could release the lock." example:"3c59dc048e885024"`
	Kind   string   `json:"kind"`
	Fence  uint64   `json:"fence" doc:"0 if the holder has no fence, for example if it uses another library."`
	Count  int      `json:"count" doc:"How often the holder has acquired a reentrant lock."`
	HeldMS int64    `json:"held_ms,omitempty" doc:"How long it has held the lock, through all renewals, by the engine's clock. A process that passes the lock on among its own callers counts as one holder. Missing if the engine does not know."`
	TTLMS  int64    `json:"ttl_ms" doc:"The time left on its lease; 0 if the lease has no end."`
	Client *Program `json:"client,omitempty" doc:"The holder's program, if the engine knows it."`
}

// A Waiter is a caller in the queue of a lock.
type Waiter struct {
	Owner  string   `json:"owner" doc:"A hash of the id that it will have as a holder."`
	Kind   string   `json:"kind"`
	TTLMS  int64    `json:"ttl_ms" doc:"How long its position is reserved, unless it retries."`
	Client *Program `json:"client,omitempty"`
}

// A Program is a process that uses locks.
type Program struct {
	Name  string    `json:"name"`
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since" doc:"When its client was created."`
}

// Locks are a page of a list.
type Locks struct {
	Locks []Lock `json:"locks"`
	Next  string `json:"next_cursor,omitempty" doc:"The cursor of the next page; missing on the last page."`
}

// A PageQuery selects a page of a list.
type PageQuery struct {
	Pattern string `query:"pattern" maxLength:"1024" doc:"* stands for any text and ? for any byte; a backslash escapes them."`
	Cursor  string `query:"cursor" maxLength:"1024" doc:"The next_cursor of the page before; empty for the first page."`
	Limit   int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"The wanted length of the page. Pages of the engine are not split, so a page may be longer."`
}

// maxPages bounds how many pages of the engine one request reads. A pattern that matches
// nothing would otherwise read all of them.
const maxPages = 50

// lockRoutes registers the operations on locks. A release is a POST: its body has the
// reason, and proxies may drop the body of a DELETE.
func (s *Server) lockRoutes() {
	route(s, "list-locks", "GET /locks", "List the locks that are held",
		"The order is undefined. A lock may occur on two pages, and a page may be empty although it has a next_cursor.", s.listLocks)
	route(s, "get-lock", "GET /locks/{key}", "Get one lock", "A free lock has no holders.", s.getLock)
	route(s, "release-lock", "POST /locks/{key}/release", "Release a lock of any holder",
		"The lock is free at once. Its holders notice when they renew, or within half a second. Until then they work at the same time as the "+
			"next holder, and only a fence stops them. If the lock has no holder, its queue is emptied.", s.releaseLock)
	route(s, "release-locks", "POST /locks/release-all", "Release all locks that match a pattern",
		"`confirm` is the number of locks you expect. If another number matches, nothing is released, and the conflict states the number.",
		s.releaseLocks)
}

// listLocks joins pages of the engine until the limit is reached, or maxPages are read.
func (s *Server) listLocks(ctx context.Context, in *struct{ PageQuery }) (*body[Locks], error) {
	out := Locks{Locks: []Lock{}, Next: in.Cursor}
	client := s.client()
	for range maxPages {
		infos, next, err := client.LocksFrom(ctx, in.Pattern, out.Next)
		if err != nil {
			return nil, badCursor(err, in.Cursor)
		}
		for _, info := range infos {
			out.Locks = append(out.Locks, describe(client, info).Lock)
		}
		if out.Next = next; next == "" || len(out.Locks) >= in.Limit {
			break
		}
	}
	return answer(out), nil
}

// badCursor returns the problem of a failed list. If the request has a cursor, an error of
// unknown kind is taken for an invalid cursor.
func badCursor(err error, cursor string) error {
	if p := explain(err); cursor == "" || p.Code != Failed {
		return p
	}
	return problem(Invalid, "the cursor %s is invalid or has expired: start without a cursor", sanitize(cursor))
}

// getLock does not answer 404: to an engine, a free lock and an unknown key are the same.
func (s *Server) getLock(ctx context.Context, in *struct{ KeyPath }) (*body[LockDetail], error) {
	key, err := in.key()
	if err != nil {
		return nil, err
	}
	client := s.client()
	info, err := client.Inspect(ctx, key)
	if err != nil {
		return nil, err
	}
	return answer(describe(client, info)), nil
}

// releaseLock returns the lock as it was before, so that the operator sees the former
// holders.
func (s *Server) releaseLock(ctx context.Context, in *struct {
	KeyPath
	Body ReasonBody
}) (*body[LockDetail], error) {
	key, err := in.key()
	if err != nil {
		return nil, err
	}
	out, err := s.forceRelease(ctx, s.client(), key, in.Body.Reason)
	if err != nil {
		return nil, err
	}
	return answer(out), nil
}

// forceRelease releases one lock, and records it in the audit log. With several locks, each
// has its own entry, so that an entry always names one key.
func (s *Server) forceRelease(ctx context.Context, client *interlock.Client, key, reason string) (out LockDetail, err error) {
	entry := AuditEntry{Action: "release", Key: key, Reason: reason}
	err = s.act(ctx, &entry, func() error {
		info, err := client.ForceRelease(ctx, key)
		if err != nil {
			return err
		}
		out = describe(client, info)
		for _, h := range out.Holders {
			entry.Before = append(entry.Before, Before{Owner: h.Owner, Fence: h.Fence})
		}
		return nil
	})
	return out, err
}

// maxReleased bounds how many locks one request releases. A pattern that matches more is
// probably a mistake.
const maxReleased = 10_000

// Released is the result of releasing several locks.
type Released struct {
	Released int       `json:"released" doc:"How many locks were released."`
	Failed   []Failure `json:"failed" doc:"The locks that could not be released."`
}

// A Failure is a lock that could not be released.
type Failure struct {
	Key    string `json:"key"`
	Code   Code   `json:"code"`
	Detail string `json:"detail"`
}

func (s *Server) releaseLocks(ctx context.Context, in *struct {
	Body struct {
		ReasonBody
		Pattern string `json:"pattern" minLength:"1" maxLength:"1024" doc:"As in a list; * matches all."`
		Confirm int    `json:"confirm" minimum:"0" doc:"The number of locks that you expect to match."`
	}
}) (*body[Released], error) {
	// This entry has the pattern as its key. The locks have entries of their own.
	entry := AuditEntry{Action: "release-all", Key: in.Body.Pattern, Reason: in.Body.Reason}
	out := Released{Failed: []Failure{}}
	client := s.client() // one for all, so that a reload cannot change what was confirmed
	err := s.act(ctx, &entry, func() error {
		keys, err := keys(ctx, client, in.Body.Pattern)
		if err != nil {
			return err
		}
		// The operator confirms the number seen in a list. A pattern that matches more is
		// stopped.
		if len(keys) != in.Body.Confirm {
			return problem(Conflict, "%d locks match, and confirm is %d: list them again, and confirm the number", len(keys), in.Body.Confirm)
		}
		// If one lock cannot be released, the next ones still are; the response lists it.
		for _, key := range keys {
			if _, err := s.forceRelease(ctx, client, key, in.Body.Reason); err != nil {
				p := explain(err)
				out.Failed = append(out.Failed, Failure{Key: key, Code: p.Code, Detail: p.Detail})
				continue
			}
			out.Released++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answer(out), nil
}

// keys returns the keys of all locks that match a pattern, without repetitions.
func keys(ctx context.Context, client *interlock.Client, pattern string) (keys []string, err error) {
	// The engine's pages may repeat a lock, and confirm counts each lock once.
	seen := make(map[string]bool)
	for info, err := range client.Locks(ctx, pattern) {
		switch {
		case err != nil:
			return nil, err
		case seen[info.Key]:
			continue
		case len(keys) == maxReleased:
			return nil, problem(Conflict, "more than %d locks match: use a narrower pattern", maxReleased)
		}
		seen[info.Key] = true
		keys = append(keys, bare(client, info.Key))
	}
	return keys, nil
}

// bare returns a key without the client's prefix.
func bare(client *interlock.Client, key string) string {
	return strings.TrimPrefix(key, client.Prefix())
}

// describe converts a lock of a client.
func describe(client *interlock.Client, info interlock.LockInfo) LockDetail {
	info.Key = bare(client, info.Key)
	return Describe(info)
}

// heldFor returns how long a holder has had its lock; zero if the engine does not know.
func heldFor(h interlock.HolderInfo) time.Duration {
	if h.Since.IsZero() {
		return 0
	}
	return max(time.Millisecond, time.Since(h.Since)) // the engine's clock may be ahead
}

// program returns nil if the engine does not know the program of a holder.
func program(c *interlock.ClientInfo) *Program {
	if c == nil {
		return nil
	}
	return &Program{Name: c.Name, Host: c.Host, PID: c.PID, Since: c.Since}
}

// millis rounds up, so that a lease with time left is never shown as 0.
func millis(d time.Duration) int64 { return (d + time.Millisecond - 1).Milliseconds() }

// errNoRecords is the text of not_supported for every operation on records.
var errNoRecords = errors.New("this engine does not support guards, and has no records")
