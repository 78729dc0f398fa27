package admin

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/interlock-go/interlock"
)

// A Lock is a lock as the API tells it.
type Lock struct {
	Key       string   `json:"key" doc:"As it was given, without the gateway's namespace. Show it escaped."`
	Kind      string   `json:"kind" doc:"exclusive, fair, read, write or permit." example:"fair"`
	Holders   []Holder `json:"holders"`
	Waiters   int      `json:"waiters" doc:"How many stand in line."`
	Listeners int      `json:"listeners" doc:"How many processes wait that stand in no line, as far as the engine can tell."`
}

// A LockDetail is a lock with those who wait.
type LockDetail struct {
	Lock
	Queue []Waiter `json:"queue" doc:"Who stands in line, in order."`
}

// A Holder is somebody who holds a lock.
type Holder struct {
	Owner  string   `json:"owner" doc:"A hash: who knew the owner itself could pass for it." example:"3c59dc048e885024"`
	Kind   string   `json:"kind"`
	Fence  uint64   `json:"fence" doc:"0 if it has none, as a holder of another library."`
	Count  int      `json:"count" doc:"How often it has entered."`
	TTLMS  int64    `json:"ttl_ms" doc:"What remains of its lease; 0 if it has no end."`
	Client *Program `json:"client,omitempty" doc:"The program, if it is known."`
}

// A Waiter is somebody who stands in line.
type Waiter struct {
	Owner  string   `json:"owner" doc:"A hash of what it will be called as a holder."`
	Kind   string   `json:"kind"`
	TTLMS  int64    `json:"ttl_ms" doc:"For how long its place is kept unless it comes back."`
	Client *Program `json:"client,omitempty"`
}

// A Program is who uses locks.
type Program struct {
	Name  string    `json:"name"`
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since" doc:"When it began to use locks."`
}

// Locks are a page of a list.
type Locks struct {
	Locks []Lock `json:"locks"`
	Next  string `json:"next_cursor,omitempty" doc:"Where to go on; it is missing at the end."`
}

// A Paged request asks for a part of a list.
type PageQuery struct {
	Pattern string `query:"pattern" maxLength:"1024" doc:"* stands for any text and ? for any byte; a backslash before one makes it itself."`
	Cursor  string `query:"cursor" maxLength:"1024" doc:"What next_cursor was; nothing at first."`
	Limit   int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"How many are enough. A page of the engine is not torn apart, so there may be some more."`
}

// maxPages is how many pages of the engine one request may go through: a pattern that
// matches nothing would otherwise keep it busy with all there is.
const maxPages = 50

func (s *Server) lockRoutes() {
	route(s, "list-locks", "GET /locks", "List locks that are held",
		"In no order. A lock may come twice over several pages, and a page may be empty while there is a next_cursor.", s.listLocks)
	route(s, "get-lock", "GET /locks/{key}", "Look at one lock", "One that is free has no holders.", s.getLock)
	route(s, "release-lock", "POST /locks/{key}/release", "Take a lock away from all who hold it",
		"It is free at once. Who held it learns of it when it renews, or within half a second; what it does until then it does beside the "+
			"next holder, and only a fence stops it. Of a lock that nobody holds the line is emptied.", s.releaseLock)
	route(s, "release-locks", "POST /locks/release-all", "Take all locks away that match a pattern",
		"`confirm` is how many you have seen: if there are more or fewer by now, nothing happens, and the answer is a conflict that says how many.",
		s.releaseLocks)
}

func (s *Server) listLocks(ctx context.Context, in *struct{ PageQuery }) (*body[Locks], error) {
	out := Locks{Locks: []Lock{}, Next: in.Cursor}
	for range maxPages {
		infos, next, err := s.o.Client.LocksFrom(ctx, in.Pattern, out.Next)
		if err != nil {
			return nil, badCursor(err, in.Cursor)
		}
		for _, info := range infos {
			out.Locks = append(out.Locks, s.lock(info).Lock)
		}
		if out.Next = next; next == "" || len(out.Locks) >= in.Limit {
			break
		}
	}
	return answer(out), nil
}

// badCursor makes a mistake of the caller's out of an error that a cursor of theirs
// has led to, and nothing else.
func badCursor(err error, cursor string) error {
	if p := explain(err); cursor == "" || p.Code != Failed {
		return p
	}
	return problem(Invalid, "the cursor %s is none, or not any more: begin without one", sanitize(cursor))
}

func (s *Server) getLock(ctx context.Context, in *struct{ KeyPath }) (*body[LockDetail], error) {
	key, err := in.key()
	if err != nil {
		return nil, err
	}
	info, err := s.o.Client.Inspect(ctx, key)
	if err != nil {
		return nil, err
	}
	return answer(s.lock(info)), nil
}

func (s *Server) releaseLock(ctx context.Context, in *struct {
	KeyPath
	Body ReasonBody
}) (*body[LockDetail], error) {
	key, err := in.key()
	if err != nil {
		return nil, err
	}
	out, err := s.forceRelease(ctx, key, in.Body.Reason)
	if err != nil {
		return nil, err
	}
	return answer(out), nil
}

// seize takes one lock away, and writes it down.
func (s *Server) forceRelease(ctx context.Context, key, reason string) (out LockDetail, err error) {
	deed := AuditEntry{Action: "release", Key: key, Reason: reason}
	err = s.act(ctx, &deed, func() error {
		info, err := s.o.Client.ForceRelease(ctx, key)
		if err != nil {
			return err
		}
		out = s.lock(info)
		for _, h := range out.Holders {
			deed.Before = append(deed.Before, Before{Owner: h.Owner, Fence: h.Fence})
		}
		return nil
	})
	return out, err
}

// maxReleased is how many locks can be taken away at once. More are a mistake in a
// pattern.
const maxReleased = 10_000

// Released is what came of taking many locks away.
type Released struct {
	Released int       `json:"released" doc:"How many were taken away."`
	Failed   []Failure `json:"failed" doc:"Those that could not be."`
}

// A Failure is a lock that could not be taken away.
type Failure struct {
	Key    string `json:"key"`
	Code   Code   `json:"code"`
	Detail string `json:"detail"`
}

func (s *Server) releaseLocks(ctx context.Context, in *struct {
	Body struct {
		ReasonBody
		Pattern string `json:"pattern" minLength:"1" maxLength:"1024" doc:"As in a list; * for all."`
		Confirm int    `json:"confirm" minimum:"0" doc:"How many locks you have seen that match."`
	}
}) (*body[Released], error) {
	deed := AuditEntry{Action: "release-all", Key: in.Body.Pattern, Reason: in.Body.Reason}
	out := Released{Failed: []Failure{}}
	err := s.act(ctx, &deed, func() error {
		keys, err := s.keys(ctx, in.Body.Pattern)
		if err != nil {
			return err
		}
		if len(keys) != in.Body.Confirm {
			return problem(Conflict, "%d locks match by now, and you have seen %d: look again, and confirm the number", len(keys), in.Body.Confirm)
		}
		for _, key := range keys {
			if _, err := s.forceRelease(ctx, key, in.Body.Reason); err != nil {
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

// keys returns those of all locks that match a pattern, each once.
func (s *Server) keys(ctx context.Context, pattern string) (keys []string, err error) {
	seen := make(map[string]bool)
	for info, err := range s.o.Client.Locks(ctx, pattern) {
		switch {
		case err != nil:
			return nil, err
		case seen[info.Key]:
			continue
		case len(keys) == maxReleased:
			return nil, problem(Conflict, "more than %d locks match: narrow the pattern", maxReleased)
		}
		seen[info.Key] = true
		keys = append(keys, s.bare(info.Key))
	}
	return keys, nil
}

// bare returns a key without what the client puts before it.
func (s *Server) bare(key string) string { return strings.TrimPrefix(key, s.o.Client.Prefix()) }

// lock tells about a lock.
func (s *Server) lock(info interlock.LockInfo) LockDetail {
	info.Key = s.bare(info.Key)
	return Describe(info)
}

func program(c *interlock.ClientInfo) *Program {
	if c == nil {
		return nil
	}
	return &Program{Name: c.Name, Host: c.Host, PID: c.PID, Since: c.Since}
}

// millis rounds up: what is left is never told as nothing.
func millis(d time.Duration) int64 { return (d + time.Millisecond - 1).Milliseconds() }

var errNoRecords = errors.New("this engine keeps no records of work that happens once")
