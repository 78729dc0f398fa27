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

// Records gives operators access to the records of all guards, without a [Guard]. Keys
// are as the engine stores them, as in [Hashed], without the client's prefix.
//
// After a change, a process may still use an answer that it has cached, for
// [Policy.LocalCache].
type Records struct {
	client *interlock.Client
	ledger engine.Ledger
	eraser engine.Eraser // nil if the engine has none
}

// A Record is the status of a key, with the guard that it belongs to.
type Record struct {
	Status
	Guard string // the name of its policy
	Kept  *Kept  // describes the stored result; nil in a list, or if no result is stored
}

// Kept describes a stored result without revealing it, since results may be secret.
type Kept struct {
	Holds  string // "result", "error", or "nothing" if the work was done and no result was stored
	Bytes  int    // size in the engine
	Sealed bool   // the result is encrypted
}

// NewRecords returns the records under the client's prefix.
func NewRecords(client *interlock.Client) (*Records, error) {
	if client == nil {
		return nil, errors.New("guard: the client is nil: pass the one that the guards use")
	}
	caps := client.Engine().Capabilities()
	if caps.Ledger == nil {
		return nil, fmt.Errorf("guard: %T stores no records: %w; use another engine", client.Engine(), errors.ErrUnsupported)
	}
	return &Records{client: client, ledger: caps.Ledger, eraser: caps.Eraser}, nil
}

// From returns a page of the records whose keys match pattern, in which * stands for
// any text and ? for any byte. An empty pattern matches all keys. The first cursor is
// "", and next is "" on the last page. A record may appear twice.
func (r *Records) From(ctx context.Context, pattern, cursor string) (records []Record, next string, err error) {
	if pattern == "" {
		pattern = "*"
	}
	recs, next, err := r.ledger.List(ctx, engine.Literal(r.client.Prefix())+pattern, cursor)
	if err != nil {
		return nil, "", fmt.Errorf("guard: listing records: %w", err)
	}
	for _, rec := range recs {
		records = append(records, r.record(rec))
	}
	return records, next, nil
}

// Pattern returns the pattern that matches the keys of the guard with that name.
func Pattern(name string) string { return pattern(interlock.Key(name)) }

// Lookup returns the record of a key. It changes nothing.
func (r *Records) Lookup(ctx context.Context, key string) (Record, error) {
	rec, err := r.ledger.Lookup(ctx, r.client.Prefix()+key)
	if err != nil {
		return Record{}, fmt.Errorf("guard: looking up %q: %w", key, err)
	}
	found := r.record(rec)
	found.Kept = describeEnvelope(rec.Result)
	return found, nil
}

// Erase deletes the record of a key, so that the next call runs. It returns the deleted
// record. A record of running work is returned and not deleted.
func (r *Records) Erase(ctx context.Context, key string) (Record, error) {
	if r.eraser == nil {
		return Record{}, fmt.Errorf("guard: %T cannot erase records: %w; use another engine", r.client.Engine(), errors.ErrUnsupported)
	}
	rec, err := r.eraser.Erase(ctx, r.client.Prefix()+key)
	if err != nil {
		return Record{}, fmt.Errorf("guard: erasing %q: %w", key, err)
	}
	return r.record(rec), nil
}

// Resolve settles an unknown outcome. With engine.Done, result is encoded by the guard's
// codec, or nil if it is not known. With engine.Failed, result is the text of the error.
// With engine.Absent the work did not happen, and the next call runs. Resolve fails with
// [ErrNotUnknown] if the outcome is not unknown. The new record lasts as long as the
// unknown one would have.
//
// A guard with [Encrypt] rejects such a result: pass nil, or use [Guard.Resolve].
func (r *Records) Resolve(ctx context.Context, key string, outcome State, result []byte) error {
	g, err := r.guardFor(key)
	if err != nil {
		return err
	}
	defer func() { _ = g.Close(ctx) }() // the guard runs no work, so Close does not fail
	switch outcome {
	case engine.Done:
		return g.decideUnknown(ctx, Hashed(r.client.Prefix()+key), func(c *Claim[json.RawMessage]) error {
			if result == nil {
				return c.claim.complete(nothing, nil, ErrNoResult, nil)
			}
			return c.claim.complete(value, result, nil, nil)
		})
	case engine.Failed:
		return g.decideUnknown(ctx, Hashed(r.client.Prefix()+key), func(c *Claim[json.RawMessage]) error {
			return c.claim.fail(errors.New(string(result)))
		})
	case engine.Absent:
		return g.Forget(ctx, Hashed(r.client.Prefix()+key))
	}
	return fmt.Errorf("guard: outcome %v: choose done, failed or absent", outcome)
}

// guardFor returns a guard for the key. The guard keeps every outcome.
func (r *Records) guardFor(key string) (*Guard[json.RawMessage], error) {
	name := guardName(key)
	if name == "" {
		return nil, fmt.Errorf("%w: %q does not belong to a guard: use a key that Records.From lists", interlock.ErrKey, key)
	}
	return New[json.RawMessage](r.client, Policy{
		Name: name, Scope: Global, After: Keep, OnError: Keep, OnUnknown: Hold, Retain: time.Second, OnDown: Closed,
	}, Replacing())
}

// record converts a record of the engine.
func (r *Records) record(rec engine.Record) Record {
	s := statusOf(rec)
	s.Key = strings.TrimPrefix(s.Key, r.client.Prefix())
	return Record{Status: s, Guard: guardName(s.Key)}
}

// guardName returns the name of the guard that a key belongs to, or "".
func guardName(key string) string {
	escaped, _, ok := strings.Cut(key, ":")
	if !ok {
		return ""
	}
	return unescapes.Replace(escaped)
}

// unescapes undoes interlock.Key. The replacer works from left to right, so an escaped
// % does not start another escape.
var unescapes = strings.NewReplacer("%25", "%", "%3A", ":", "%7B", "{", "%7D", "}")

// describeEnvelope reads the header of an envelope, which is never encrypted.
func describeEnvelope(envelope []byte) *Kept {
	if len(envelope) < headerSize {
		return nil
	}
	k := &Kept{Holds: "nothing", Bytes: len(envelope), Sealed: envelope[2] > 0}
	switch content(envelope[1]) {
	case value, tracedValue:
		k.Holds = "result"
	case failure, tracedFailure:
		k.Holds = "error"
	}
	return k
}
