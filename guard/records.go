package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
)

// Records are what the engine keeps of the keys of all guards, whatever their
// results are: for operators, who have no [Guard] at hand. Keys are as the engine
// calls them, as in [Hashed], without the client's prefix.
//
// A process that has just seen a key may go by what it saw for [Policy.Local].
type Records struct {
	client *interlock.Client
	ledger engine.Ledger
	eraser engine.Eraser // nil if the engine has none
}

// A Record is what is known of a key, and whose it is.
type Record struct {
	Status
	Guard string // the name of its policy
	Kept  *Kept  // what is kept of the result; nil in a list, or if nothing is
}

// Kept says what kind of result is kept, and not the result itself, which may be
// somebody's secret.
type Kept struct {
	Holds  string // result, error, or nothing: it was done, and the result was not kept
	Bytes  int    // that the engine keeps
	Sealed bool   // it is encrypted
}

// NewRecords returns the records that are kept under the client's prefix.
func NewRecords(client *interlock.Client) (*Records, error) {
	if client == nil {
		return nil, errors.New("guard: there is no client whose records to look at")
	}
	caps := client.Engine().Capabilities()
	if caps.Ledger == nil {
		return nil, fmt.Errorf("guard: %T keeps no records: %w; use another engine", client.Engine(), errors.ErrUnsupported)
	}
	return &Records{client: client, ledger: caps.Ledger, eraser: caps.Eraser}, nil
}

// From returns some of the records whose keys match pattern, in which * stands for
// any text and ? for any byte, and where to go on: cursor is "" at first, and next is
// "" at the end. An empty pattern means all. A record may come twice.
func (r *Records) From(ctx context.Context, pattern, cursor string) (records []Record, next string, err error) {
	if pattern == "" {
		pattern = "*"
	}
	recs, next, err := r.ledger.List(ctx, literally(r.client.Prefix())+pattern, cursor)
	if err != nil {
		return nil, "", fmt.Errorf("guard: listing records: %w", err)
	}
	for _, rec := range recs {
		records = append(records, r.record(rec))
	}
	return records, next, nil
}

// Pattern returns the pattern that the keys of the guard named so match.
func Pattern(name string) string { return pattern(interlock.Key(name)) }

// Lookup returns what is known of a key. It changes nothing.
func (r *Records) Lookup(ctx context.Context, key string) (Record, error) {
	rec, err := r.ledger.Lookup(ctx, r.client.Prefix()+key)
	if err != nil {
		return Record{}, fmt.Errorf("guard: looking up %q: %w", key, err)
	}
	found := r.record(rec)
	found.Kept = kept(rec.Result)
	return found, nil
}

// Erase forgets what became of the work at key: the next call runs it. It returns
// what was known. Work that still runs stays as it is, and is returned so.
func (r *Records) Erase(ctx context.Context, key string) (Record, error) {
	if r.eraser == nil {
		return Record{}, fmt.Errorf("guard: %T cannot forget: %w", r.client.Engine(), errors.ErrUnsupported)
	}
	rec, err := r.eraser.Erase(ctx, r.client.Prefix()+key)
	if err != nil {
		return Record{}, fmt.Errorf("guard: forgetting %q: %w", key, err)
	}
	return r.record(rec), nil
}

// Resolve says what became of work whose outcome is unknown: engine.Done, with what
// the guard's codec makes of its result, or nil if that is not to be had;
// engine.Failed, and then the result is the text of the error; or engine.Absent: it
// did not happen, and the next call runs it. It fails with [ErrNotUnknown] if there is
// no unknown outcome. It is kept for as long as the unknown one would have been.
//
// A guard that encrypts believes no result that is not: leave it out, or use
// [Guard.Resolve].
func (r *Records) Resolve(ctx context.Context, key string, outcome State, result []byte) error {
	g, err := r.guard(key)
	if err != nil {
		return err
	}
	defer func() { _ = g.Close(ctx) }() // nothing of it is at work
	switch outcome {
	case engine.Done:
		return g.take(ctx, Hashed(r.client.Prefix()+key), func(c *Claim[json.RawMessage]) error {
			if result == nil {
				return c.claim.complete(nothing, nil, ErrNoResult, nil)
			}
			return c.claim.complete(value, result, nil, nil)
		})
	case engine.Failed:
		return g.take(ctx, Hashed(r.client.Prefix()+key), func(c *Claim[json.RawMessage]) error {
			return c.claim.fail(errors.New(string(result)))
		})
	case engine.Absent:
		return g.Forget(ctx, Hashed(r.client.Prefix()+key))
	}
	return fmt.Errorf("guard: work cannot be said to be %v: choose done, failed or absent", outcome)
}

// guard returns one that has the key, and keeps what it is told.
func (r *Records) guard(key string) (*Guard[json.RawMessage], error) {
	name := nameOf(key)
	if name == "" {
		return nil, fmt.Errorf("%w: %q is not one of a guard: see what Records.From lists", interlock.ErrKey, key)
	}
	return New[json.RawMessage](r.client, Policy{
		Name: name, Scope: Global, After: Keep, OnError: Keep, OnUnknown: Hold, Retain: time.Second, OnDown: Closed,
	})
}

// record describes a record of the engine's.
func (r *Records) record(rec engine.Record) Record {
	s := statusOf(rec)
	s.Key = strings.TrimPrefix(s.Key, r.client.Prefix())
	return Record{Status: s, Guard: nameOf(s.Key)}
}

// nameOf returns the name of the guard that a key belongs to, or "".
func nameOf(key string) string {
	escaped, _, ok := strings.Cut(key, ":")
	if !ok {
		return ""
	}
	return unescapes.Replace(escaped)
}

// unescapes undoes what interlock.Key does to a name. It goes from left to right, so
// a % that was escaped is not taken for the beginning of another.
var unescapes = strings.NewReplacer("%25", "%", "%3A", ":", "%7B", "{", "%7D", "}")

// kept describes what is in an envelope, as far as can be seen from outside.
func kept(envelope []byte) *Kept {
	if len(envelope) < plain {
		return nil
	}
	k := &Kept{Holds: "nothing", Bytes: len(envelope), Sealed: envelope[2] > 0}
	switch content(envelope[1]) {
	case value:
		k.Holds = "result"
	case failure:
		k.Holds = "error"
	}
	return k
}
