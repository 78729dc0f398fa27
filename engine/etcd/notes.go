package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
)

var _ engine.Notes = (*Engine)(nil)

// A note is the value of a note's key, which has no lease. Another key, with the same
// revision, measures the age of the note.
type note struct {
	version `json:"-"`
	Text    text   `json:"text"`
	Version uint64 `json:"version"`
}

// ReadNote implements [engine.Notes].
func (e *Engine) ReadNote(ctx context.Context, name string) (engine.Note, error) {
	ctx, cancel, err := e.beginNote(ctx, name)
	if err != nil {
		return engine.Note{}, err
	}
	defer cancel()
	n, age, err := e.readNote(ctx, name)
	if err != nil || n.Version == 0 {
		return engine.Note{}, err
	}
	old, err := e.age(ctx, name, age)
	return engine.Note{Text: string(n.Text), Version: n.Version, Age: old}, err
}

// WriteNote implements [engine.Notes].
func (e *Engine) WriteNote(ctx context.Context, name, s string, version uint64) error {
	ctx, cancel, err := e.beginNote(ctx, name)
	if err != nil {
		return err
	}
	defer cancel()
	for {
		n, before, err := e.readNote(ctx, name)
		switch {
		case err != nil:
			return err
		case n.Version == version+1 && string(n.Text) == s:
			return nil // an earlier call wrote it, and its reply was lost
		case n.Version != version:
			return fail(name, fmt.Sprintf("the note has version %d, not %d: read it again", n.Version, version), engine.ErrConflict)
		}
		age, err := e.newAge(ctx, name)
		if err != nil {
			return err
		}
		resp, err := e.commit(ctx, &change{
			name: name, operation: "write-note", when: []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(e.keys.note(name)), "=", n.modified)},
			do: []clientv3.Op{
				clientv3.OpPut(e.keys.note(name), value(&note{Text: text(s), Version: version + 1})),
				clientv3.OpPut(e.keys.noteAge(name), "", clientv3.WithLease(age.id)),
			},
		})
		switch {
		case err != nil:
			e.discard(ctx, err, age)
			return err
		case resp.Succeeded:
			e.revoke(ctx, before)
			return nil
		}
		e.revoke(ctx, age.id)
	}
}

// discard ends leases that a failed change was to use, and that may last for years. After a lost
// reply they may have keys.
func (e *Engine) discard(ctx context.Context, err error, leases ...lease) {
	if errors.Is(err, engine.ErrUnknown) {
		return
	}
	for _, l := range leases {
		e.revoke(ctx, l.id)
	}
}

// revoke ends a lease without keys that would last for ever. If the context has ended, the lease
// is left.
func (e *Engine) revoke(ctx context.Context, id clientv3.LeaseID) {
	if id == clientv3.NoLease || ctx.Err() != nil {
		return
	}
	start := time.Now()
	_, err := e.client.Revoke(ctx, id)
	e.report("lease-revoke", start, err)
}

// readNote reads a note, and the lease that measures its age.
func (e *Engine) readNote(ctx context.Context, name string) (n note, age clientv3.LeaseID, _ error) {
	resp, err := e.read(ctx, name, "read-note", clientv3.OpGet(e.keys.note(name)), clientv3.OpGet(e.keys.noteAge(name)))
	if err != nil {
		return note{}, 0, err
	}
	for _, kv := range kvsOf(resp.Responses[0]) {
		n.version = versionOf(kv)
		if err := json.Unmarshal(kv.Value, &n); err != nil {
			return note{}, 0, fail(name, "the note was not written by this engine: "+err.Error(), engine.ErrKind)
		}
	}
	for _, kv := range kvsOf(resp.Responses[1]) {
		age = clientv3.LeaseID(kv.Lease)
	}
	return n, age, nil
}

var errNoName = errors.New("etcd: a note needs a name")

// beginNote is begin for a note.
func (e *Engine) beginNote(ctx context.Context, name string) (context.Context, context.CancelFunc, error) {
	if name == "" {
		return nil, nil, errNoName
	}
	return e.begin(ctx)
}
