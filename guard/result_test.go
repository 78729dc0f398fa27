package guard_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
)

// A receipt is a result with several fields.
type receipt struct {
	Order string
	Cents int64
}

// storeEnvelope stores a done record with the given envelope.
func storeEnvelope(t *testing.T, w *world, key string, result []byte) {
	t.Helper()
	l := w.memory.Capabilities().Ledger
	rec, err := l.Claim(t.Context(), engine.Claim{Key: key, Attempt: "x", Lease: time.Minute})
	if err != nil || !rec.Granted {
		t.Fatalf("Claim = %+v, %v", rec, err)
	}
	_, err = l.Settle(t.Context(), engine.Settlement{Key: key, Attempt: "x", Outcome: engine.Done, Result: result, Retain: time.Hour})
	ok(t, err)
}

// stored returns the stored key and envelope of k.
func stored(t *testing.T, w *world, g *guard.Guard[string], k guard.Key) (string, []byte) {
	t.Helper()
	s, err := g.Lookup(t.Context(), k)
	ok(t, err)
	rec, err := w.memory.Capabilities().Ledger.Lookup(t.Context(), s.Key)
	ok(t, err)
	return s.Key, rec.Result
}

func ring(t *testing.T, current guard.Secret, older ...guard.Secret) *guard.Ring {
	t.Helper()
	r, err := guard.NewRing(current, older...)
	ok(t, err)
	return r
}

func secret(name string) guard.Secret {
	return guard.Secret{Name: name, Key: []byte(strings.Repeat(name, 32)[:32])}
}

var resultLaws = []law{
	{"a replayed result equals the original", func(t *testing.T, w *world) {
		g := process[receipt](t, w, order)
		want := receipt{"42", 9_007_199_254_740_993}
		for range 2 {
			got, err := g.Do(t.Context(), key, func(context.Context) (receipt, error) { return want, nil })
			if err != nil || got != want {
				t.Errorf("Do = %+v, %v; want %+v", got, err, want)
			}
		}
		got, err := process[receipt](t, w, order).Do(t.Context(), key, nil)
		if err != nil || got != want {
			t.Errorf("in another process Do = %+v, %v; want %+v", got, err, want)
		}
	}},
	{"a result that cannot be encoded is never replayed, and the work never runs again", func(t *testing.T, w *world) {
		g, ran := process[any](t, w, order), 0
		v, err := g.Do(t.Context(), key, func(context.Context) (any, error) { ran++; return func() {}, nil })
		if err != nil || v == nil {
			t.Errorf("the first caller got %v, %v; want the result", v, err)
		}
		for _, g := range []*guard.Guard[any]{g, process[any](t, w, order)} {
			_, err = g.Do(t.Context(), key, func(context.Context) (any, error) { ran++; return 1, nil })
			wantErr(t, err, guard.ErrNoResult)
			wantErr(t, err, guard.ErrCodec)
		}
		if n := g.Stats().Endings[guard.Tombstoned]; ran != 1 || n != 1 {
			t.Errorf("the work ran %d times and left %d tombstones, want one each", ran, n)
		}
	}},
	{"a result whose codec panics is never replayed, and the work never runs again", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order, guard.WithCodec(panicking{})), work("a", 0)
		do(t, g, key, j, "a")
		fails(t, g, key, j, guard.ErrNoResult)
		fails(t, process[string](t, w, order), key, j, guard.ErrNoResult)
		j.want(t, 1)
	}},
	{"an error whose Error method panics leaves no claim behind", func(t *testing.T, w *world) {
		g, j := process[string](t, w, guard.Policy{Name: "order", OnError: guard.Keep, OnUnknown: guard.Rerun}), &job{err: (*brokenError)(nil)}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_, _ = g.Do(t.Context(), key, j.do)
		}()
		if n := g.Stats().Running; n != 0 {
			t.Errorf("%d claims run, want none", n)
		}
		do(t, g, key, work("a", 0), "a")
	}},
	{"a result that is too large is never replayed, and the work never runs again", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order, guard.MaxResult(100)), work(strings.Repeat("x", 99), 0)
		do(t, g, key, j, j.result)
		wantErr(t, fails(t, g, key, j, guard.ErrNoResult), guard.ErrTooLarge)
		wantErr(t, fails(t, process[string](t, w, order), key, j, guard.ErrNoResult), guard.ErrTooLarge)
		j.want(t, 1)
		fits := work(strings.Repeat("x", 98), 0)
		do(t, g, guard.Of("ann", "2"), fits, fits.result)
		do(t, g, guard.Of("ann", "2"), fits, fits.result)
	}},
	{"a failure record without an error text is never shown", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnError: guard.Keep}
		g := process[string](t, w, p)
		do(t, g, key, work("card number", 0), "card number")
		hash, envelope := stored(t, w, g, key)
		w.memory.Evict(hash)
		l := w.memory.Capabilities().Ledger
		_, err := l.Claim(t.Context(), engine.Claim{Key: hash, Attempt: "x", Lease: time.Minute})
		ok(t, err)
		_, err = l.Settle(t.Context(), engine.Settlement{Key: hash, Attempt: "x", Outcome: engine.Failed, Result: envelope, Retain: time.Hour})
		ok(t, err)
		time.Sleep(guard.DefaultLocalCache)
		wantErr(t, fails(t, g, key, work("a", 0), guard.ErrNoResult), guard.ErrCorrupt)
	}},
	{"the engine can neither compare nor read payloads", func(t *testing.T, w *world) {
		g := process[string](t, w, order)
		var seen []string
		for _, id := range []string{"1", "2"} {
			k := guard.Of("ann", id)
			k.Fingerprint = "10 EUR"
			do(t, g, k, work("a", 0), "a")
			hash, _ := stored(t, w, g, k)
			rec, err := w.memory.Capabilities().Ledger.Lookup(t.Context(), hash)
			ok(t, err)
			seen = append(seen, rec.Fingerprint)
		}
		if seen[0] == seen[1] || strings.Contains(seen[0], "EUR") || seen[0] == "" {
			t.Errorf("the stored fingerprints are %q, want two different hashes", seen)
		}
	}},
	{"with a secret, payloads cannot be guessed", func(t *testing.T, w *world) {
		for secret, want := range map[string]bool{"": true, strings.Repeat("s", 16): false} {
			var opts []guard.Option
			if secret != "" {
				opts = append(opts, guard.HashWith([]byte(secret)))
			}
			g, k := process[string](t, w, order, opts...), key
			k.Fingerprint = "10 EUR"
			do(t, g, k, work("a", 0), "a")
			hash, _ := stored(t, w, g, k)
			rec, err := w.memory.Capabilities().Ledger.Lookup(t.Context(), hash)
			ok(t, err)
			var tried []byte
			for _, part := range []string{hash, "10 EUR"} {
				tried = append(binary.BigEndian.AppendUint32(tried, uint32(len(part))), part...)
			}
			sum := sha256.Sum256(tried)
			if found := rec.Fingerprint == base64.RawURLEncoding.EncodeToString(sum[:]); found != want {
				t.Errorf("with the secret %q the payload was guessed: %v, want %v", secret, found, want)
			}
		}
	}},
	{"a result that cannot be decoded is never replayed, and the work never runs again", func(t *testing.T, w *world) {
		do(t, process[string](t, w, order), key, work("no number", 0), "no number")
		g := process[int](t, w, order)
		_, err := g.Do(t.Context(), key, func(context.Context) (int, error) { t.Error("the work ran"); return 1, nil })
		wantErr(t, err, guard.ErrNoResult)
		var bad *json.UnmarshalTypeError
		if !errors.As(err, &bad) {
			t.Errorf("the error is %v, want the codec's error in it", err)
		}
	}},
	{"a record that was changed, truncated, emptied or moved to another key is never replayed, and the work never runs again", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), work("a", 0)
		do(t, g, key, j, "a")
		hash, envelope := stored(t, w, g, key)
		flipped := append([]byte(nil), envelope...)
		flipped[len(flipped)-2] ^= 1
		for name, bad := range map[string][]byte{
			"flipped": flipped, "cut": envelope[:len(envelope)-1], "short": envelope[:5], "empty": {},
			"garbage": []byte("garbage"), "newer": append([]byte{9}, envelope[1:]...), "sealed": {1, 'v', 200, 'x'},
		} {
			w.memory.Evict(hash)
			storeEnvelope(t, w, hash, bad)
			time.Sleep(guard.DefaultLocalCache)
			if err := fails(t, g, key, j, guard.ErrNoResult); !errors.Is(err, guard.ErrCorrupt) {
				t.Errorf("%s: the error is %v, want ErrCorrupt", name, err)
			}
		}
		moved := guard.Of("ann", "moved")
		s, err := g.Lookup(t.Context(), moved)
		ok(t, err)
		storeEnvelope(t, w, s.Key, envelope)
		wantErr(t, fails(t, g, moved, j, guard.ErrNoResult), guard.ErrCorrupt)
		j.want(t, 1)
	}},
	{"an encrypted result is unreadable, is replayed, and cannot be moved to another key", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order, guard.Encrypt(ring(t, secret("k1")))), work("card number", 0)
		do(t, g, key, j, j.result)
		time.Sleep(time.Second)
		do(t, g, key, j, j.result)
		_, sealed := stored(t, w, g, key)
		if strings.Contains(string(sealed), "card") || !strings.Contains(string(sealed), "k1") {
			t.Errorf("stored as %q, want it encrypted with the key k1", sealed)
		}
		moved := guard.Of("ann", "moved")
		s, err := g.Lookup(t.Context(), moved)
		ok(t, err)
		storeEnvelope(t, w, s.Key, sealed)
		wantErr(t, fails(t, g, moved, j, guard.ErrNoResult), guard.ErrCorrupt)
		j.want(t, 1)
	}},
	{"a new first key replaces the old one, and a result whose key is gone is not replayed", func(t *testing.T, w *world) {
		j := work("a", 0)
		do(t, process[string](t, w, order, guard.Encrypt(ring(t, secret("old")))), key, j, "a")
		g := process[string](t, w, order, guard.Encrypt(ring(t, secret("new"), secret("old"))))
		do(t, g, key, j, "a")
		do(t, g, guard.Of("ann", "2"), j, "a")
		if _, sealed := stored(t, w, g, guard.Of("ann", "2")); !strings.Contains(string(sealed), "new") {
			t.Errorf("stored as %q, want it encrypted with the key new", sealed)
		}
		time.Sleep(guard.DefaultLocalCache)
		do(t, g, guard.Of("ann", "2"), j, "a")
		g = process[string](t, w, order, guard.Encrypt(ring(t, secret("new"))))
		wantErr(t, fails(t, g, key, j, guard.ErrNoResult), guard.ErrSealed)
		err := fails(t, process[string](t, w, order), key, j, guard.ErrNoResult)
		if wantErr(t, err, guard.ErrSealed); !strings.Contains(err.Error(), "Encrypt") {
			t.Errorf("the error of a guard without a ring is %q, want it to mention Encrypt", err)
		}
		j.want(t, 2)
	}},
	{"two encryptions of the same result differ", func(t *testing.T, w *world) {
		g := process[string](t, w, guard.Policy{Name: "order", Retain: time.Second}, guard.Encrypt(ring(t, secret("k"))))
		do(t, g, key, work("a", 0), "a")
		_, first := stored(t, w, g, key)
		time.Sleep(2 * time.Second)
		do(t, g, key, work("a", 0), "a")
		if _, second := stored(t, w, g, key); string(first) == string(second) {
			t.Error("two encryptions are equal")
		}
	}},
	{"an encrypting guard rejects unencrypted results and errors", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnError: guard.Keep}
		plain, j := process[string](t, w, p), work("a", 0)
		do(t, plain, key, j, "a")
		fails(t, plain, guard.Of("ann", "2"), &job{err: errNo}, errNo)
		g := process[string](t, w, p, guard.Encrypt(ring(t, secret("k"))))
		wantErr(t, fails(t, g, key, j, guard.ErrNoResult), guard.ErrCorrupt)
		wantErr(t, fails(t, g, guard.Of("ann", "2"), j, guard.ErrNoResult), guard.ErrCorrupt)
		fails(t, g, guard.Of("ann", "3"), &job{err: errNo}, errNo)
		time.Sleep(time.Second)
		fails(t, g, guard.Of("ann", "3"), j, guard.ErrFailed)
		j.want(t, 1)
	}},
	{"WithCodec encodes and decodes results", func(t *testing.T, w *world) {
		g := process[string](t, w, order, guard.WithCodec(upperCase{}))
		do(t, g, key, work("a", 0), "a")
		do(t, g, key, work("b", 0), "A")
	}},
}

// upperCase is a codec that encodes a string in upper case.
type upperCase struct{}

func (upperCase) Marshal(v any) ([]byte, error) { return []byte(strings.ToUpper(v.(string))), nil }
func (upperCase) Unmarshal(b []byte, v any) error {
	*v.(*string) = string(b)
	return nil
}

// A brokenError panics if it is a nil pointer in an error.
type brokenError struct{ text string }

func (e *brokenError) Error() string { return e.text }
