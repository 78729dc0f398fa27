package zookeeper

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/keystate"
)

// A node holds less than 1 MB, and a document is rewritten with every change. So a large
// result is stored in nodes of its own, before the transaction that settles the claim.
const (
	maxInline = 64 << 10  // the largest result in a document, in bytes
	chunkSize = 512 << 10 // the data of one node of a large result
)

// blobPath returns the path of a chunk of a large result.
func (e *Engine) blobPath(b *keystate.Blob, key string, chunk int) string {
	return fmt.Sprintf("%s~%s~%d", e.path(resultsDir, key), b.ID, chunk)
}

// newBlob returns the blob for a result. A repeated settlement has the same blob.
func newBlob(attempt string, result []byte) *keystate.Blob {
	sum := sha256.Sum256(result)
	return &keystate.Blob{ID: keystate.Digest(attempt) + hex.EncodeToString(sum[:8]), Chunks: (len(result) + chunkSize - 1) / chunkSize}
}

// store stores a large result. It changes no record, so a failure has no effect.
func (e *Engine) store(ctx context.Context, deadline time.Time, key string, b *keystate.Blob, result []byte) error {
	_, err := within(ctx, deadline, e, key, func() (struct{}, error) {
		for n := range b.Chunks {
			chunk := result[n*chunkSize : min(len(result), (n+1)*chunkSize)]
			path := e.blobPath(b, key, n)
			err := e.create(path, chunk)
			if errors.Is(err, zk.ErrNoNode) {
				if err := e.prepareBucket(path); err != nil {
					return struct{}{}, err
				}
				err = e.create(path, chunk)
			}
			if err != nil {
				return struct{}{}, readFailure(key, failure(key, "store", err))
			}
		}
		return struct{}{}, nil
	})
	return err
}

// load reads a large result. It reports false if the result is gone, because the record
// has changed meanwhile.
func (e *Engine) load(ctx context.Context, deadline time.Time, key string, b *keystate.Blob) (result []byte, ok bool, _ error) {
	result, err := within(ctx, deadline, e, key, func() (all []byte, _ error) {
		for n := range b.Chunks {
			chunk, err := request(e, "read", func(conn *zk.Conn) ([]byte, error) {
				chunk, _, err := conn.Get(e.blobPath(b, key, n))
				return chunk, err
			})
			if err != nil {
				return nil, err
			}
			all = append(all, chunk...)
		}
		return all, nil
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil, false, nil
	case err != nil && !errors.Is(err, engine.ErrUnavailable):
		return nil, false, readFailure(key, failure(key, "read", err))
	}
	return result, err == nil, err
}

// discard deletes a large result. The sweep deletes parts that it misses.
func (e *Engine) discard(key string, b *keystate.Blob) {
	for n := range b.Chunks {
		path := e.blobPath(b, key, n)
		_, _ = request(e, "delete", func(conn *zk.Conn) (struct{}, error) { return struct{}{}, conn.Delete(path, -1) })
	}
}

// complete runs a command that answers a record, and adds its large result.
func (l ledger) complete(ctx context.Context, key string, c keystate.Command) (engine.Record, error) {
	deadline := time.Now().Add(l.timeout)
	for {
		f, err := askUntil[keystate.Found](ctx, deadline, l.Engine, keystate.Records, key, c)
		if err != nil || f.Blob == nil || f.Granted {
			return f.Record, err
		}
		result, ok, err := l.load(ctx, deadline, key, f.Blob)
		if err != nil {
			return engine.Record{}, err
		}
		if ok {
			f.Result = result
			return f.Record, nil
		}
	}
}

// within runs requests that change nothing and may take longer than a call.
func within[T any](ctx context.Context, deadline time.Time, e *Engine, key string, do func() (T, error)) (answer T, _ error) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	if err := e.session.wait(ctx); err != nil {
		return answer, e.endedEarly(context.Background(), key)
	}
	type reply struct {
		answer T
		err    error
	}
	done := make(chan reply, 1)
	if !e.tasks.Start(func() {
		answer, err := do()
		done <- reply{answer, err}
	}) {
		return answer, errClosed
	}
	select {
	case r := <-done:
		return r.answer, r.err
	case <-ctx.Done():
		return answer, fmt.Errorf("zookeeper: %q: no answer within %v: %w: %w", key, e.timeout, engine.ErrUnavailable, ctx.Err())
	}
}

// usesBlob reports whether a record has the large result of that id.
func usesBlob(s keystate.State, id string) bool {
	b := keystate.BlobOf(s)
	return b != nil && b.ID == id
}

// unusedFor is how long a large result must have existed without a record before it is
// deleted: its claim may be about to be settled.
const unusedFor = time.Hour

// sweepResults deletes large results whose record has another one, or none.
func (e *Engine) sweepResults(bucket string, names []string) {
	for _, name := range names {
		escaped, rest, _ := strings.Cut(name, "~")
		id, _, _ := strings.Cut(rest, "~")
		key, ok := unescape(escaped)
		if !ok || e.isClosing() {
			continue
		}
		n, err := e.get(keystate.Records, key)
		if err != nil || n != nil && usesBlob(n.state, id) {
			continue
		}
		stat, err := request(e, "read", func(conn *zk.Conn) (*zk.Stat, error) {
			_, stat, err := conn.Exists(bucket + "/" + name)
			return stat, err
		})
		if err == nil && e.clock.past().Now-stat.Ctime > unusedFor.Milliseconds() {
			_, _ = request(e, "delete", func(conn *zk.Conn) (struct{}, error) { return struct{}{}, conn.Delete(bucket+"/"+name, -1) })
		}
	}
}
