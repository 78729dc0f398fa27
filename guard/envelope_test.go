package guard_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
)

// storeResult does work on an in-process engine, and returns the key and the envelope of
// its result "a".
func storeResult(t *testing.T, w *world, g *guard.Guard[string], k guard.Key) (hash string, envelope []byte) {
	t.Helper()
	do(t, g, k, work("a", 0), "a")
	hash, envelope = stored(t, w, g, k)
	if envelope[0] != 0 {
		t.Fatalf("stored as %q, want a local envelope", envelope)
	}
	return hash, bytes.Clone(envelope)
}

// wantCorrupt stores an envelope, and checks that every guard rejects it and that no work
// runs again.
func wantCorrupt(t *testing.T, w *world, hash string, envelope []byte, what string, guards ...*guard.Guard[string]) {
	t.Helper()
	w.memory.Evict(hash)
	storeEnvelope(t, w, hash, envelope)
	for _, g := range guards {
		j := work("again", 0)
		v, err := g.Do(t.Context(), key, j.do)
		if !errors.Is(err, guard.ErrNoResult) || !errors.Is(err, guard.ErrCorrupt) {
			t.Fatalf("%s: Do = %q, %v; want ErrCorrupt", what, v, err)
		}
		j.want(t, 0)
	}
}

// envelopeLaws are about local envelopes.
var envelopeLaws = []law{
	{"a local envelope with a flipped bit is rejected", func(t *testing.T, w *world) {
		g := process[string](t, w, order)
		hash, envelope := storeResult(t, w, g, key)
		for at := range envelope {
			for bit := range 8 {
				bad := bytes.Clone(envelope)
				bad[at] ^= 1 << bit
				wantCorrupt(t, w, hash, bad, fmt.Sprintf("bit %d of byte %d", bit, at), g, remote[string](t, w, order))
			}
		}
		w.memory.Evict(hash)
		storeEnvelope(t, w, hash, envelope)
		do(t, g, key, work("b", 0), "a")
	}},
	{"a local envelope with another content is rejected", func(t *testing.T, w *world) {
		g := process[string](t, w, order)
		hash, envelope := storeResult(t, w, g, key)
		for what := range 256 {
			if bad := bytes.Clone(envelope); byte(what) != envelope[1] {
				bad[1] = byte(what)
				wantCorrupt(t, w, hash, bad, fmt.Sprintf("content %d", what), g)
			}
		}
	}},
	{"a truncated or extended local envelope is rejected", func(t *testing.T, w *world) {
		g := process[string](t, w, order)
		hash, envelope := storeResult(t, w, g, key)
		for n := range envelope {
			wantCorrupt(t, w, hash, envelope[:n], fmt.Sprintf("%d bytes", n), g, remote[string](t, w, order))
		}
		wantCorrupt(t, w, hash, append(bytes.Clone(envelope), 0), "one more", g)
	}},
	{"a local envelope under another key is rejected", func(t *testing.T, w *world) {
		g := process[string](t, w, order)
		_, moved := storeResult(t, w, g, guard.Of("ann", "another"))
		hash, _ := storeResult(t, w, g, key)
		wantCorrupt(t, w, hash, moved, "moved", g, remote[string](t, w, order))
	}},
	{"a local envelope is rejected in another process", func(t *testing.T, w *world) {
		g := process[string](t, w, order)
		_, _ = storeResult(t, w, g, key)
		j := work("b", 0)
		func() {
			defer guard.Reseed()()
			for _, g := range []*guard.Guard[string]{g, remote[string](t, w, order)} {
				wantErr(t, fails(t, g, key, j, guard.ErrNoResult), guard.ErrCorrupt)
			}
		}()
		do(t, g, key, j, "a")
		j.want(t, 0)
	}},
	{"this process reads results of in-process and remote engines", func(t *testing.T, w *world) {
		local, distant, j := process[string](t, w, order), remote[string](t, w, order), work("b", 0)
		_, _ = storeResult(t, w, local, key)
		do(t, distant, key, j, "a")
		k := guard.Of("ann", "another")
		do(t, distant, k, work("c", 0), "c")
		if _, envelope := stored(t, w, distant, k); envelope[0] != 1 {
			t.Errorf("the envelope on a remote engine is %q, want version 1", envelope)
		}
		do(t, local, k, j, "c")
		j.want(t, 0)
	}},
	{"this process reads errors and tombstones of both kinds of engine", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnError: guard.Keep}
		g, otherProcess := process[string](t, w, p, guard.MaxResult(3)), remote[string](t, w, p)
		fails(t, g, key, &job{err: errNo}, errNo)
		large := guard.Of("ann", "large")
		do(t, g, large, work("large", 0), "large")
		for _, g := range []*guard.Guard[string]{g, otherProcess} {
			fails(t, g, key, work("b", 0), guard.ErrFailed)
			wantErr(t, fails(t, g, large, work("b", 0), guard.ErrNoResult), guard.ErrTooLarge)
		}
	}},
	{"an encrypting guard rejects local envelopes with results and errors", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnError: guard.Keep}
		g := process[string](t, w, p)
		hash, envelope := storeResult(t, w, g, key)
		sealing := []*guard.Guard[string]{
			process[string](t, w, p, guard.Encrypt(ring(t, secret("k")))), remote[string](t, w, p, guard.Encrypt(ring(t, secret("k")))),
		}
		wantCorrupt(t, w, hash, envelope, "a result", sealing...)
		l := w.memory.Capabilities().Ledger
		w.memory.Evict(hash)
		_, err := l.Claim(t.Context(), engine.Claim{Key: hash, Attempt: "x", Lease: time.Minute})
		ok(t, err)
		_, err = l.Settle(t.Context(), engine.Settlement{Key: hash, Attempt: "x", Outcome: engine.Failed,
			Result: guard.LocalEnvelope(hash, 'f', "made up"), Retain: time.Hour})
		ok(t, err)
		fails(t, g, key, work("b", 0), guard.ErrFailed)
		for _, g := range sealing {
			wantErr(t, fails(t, g, key, work("b", 0), guard.ErrNoResult), guard.ErrCorrupt)
		}
	}},
	{"an encrypting guard encrypts on an in-process engine and rejects other versions", func(t *testing.T, w *world) {
		g := process[string](t, w, order, guard.Encrypt(ring(t, secret("k"))))
		do(t, g, key, work("card number", 0), "card number")
		hash, sealed := stored(t, w, g, key)
		if sealed[0] != 1 || bytes.Contains(sealed, []byte("card")) {
			t.Errorf("stored as %q, want an encrypted envelope of version 1", sealed)
		}
		do(t, g, key, work("b", 0), "card number")
		wantCorrupt(t, w, hash, append([]byte{0}, sealed[1:]...), "as if it were not sealed", g)
	}},
}

// FuzzEnvelope looks for a forged or changed envelope that is accepted, in both versions.
// Local envelopes cannot be in the corpus, since fuzzing uses several processes.
func FuzzEnvelope(f *testing.F) {
	f.Add([]byte(nil), "k", byte('v'), "text", 0, byte(0))
	f.Add([]byte{0, 'v', 0, 1, 2, 3, 4, 5, 6, 7, 8, 'a'}, "k", byte('v'), "text", 1, byte(0x40))
	f.Add([]byte{0, 'v', 1, 'k', 2, 3, 4, 5, 6, 7, 8, 'a'}, "k", byte('f'), "", 2, byte(1))
	f.Add(guard.PlainEnvelope("k", 'v', "text"), "k", byte('w'), "text", 0, byte(1))
	sealing, err := guard.NewRing(secret("k"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte, key string, what byte, text string, at int, flip byte) {
		checkAccepted(t, sealing, key, raw)
		for _, envelope := range [][]byte{guard.LocalEnvelope(key, what, text), guard.PlainEnvelope(key, what, text)} {
			if content, got, err := guard.OpenEnvelope(nil, key, envelope); err != nil || content != what || got != text {
				t.Errorf("OpenEnvelope = %q, %q, %v; want %q, %q", content, got, err, what, text)
			}
			if _, _, err := guard.OpenEnvelope(nil, key+"x", envelope); err == nil {
				t.Errorf("%q is accepted under another key", envelope)
			}
			bad := bytes.Clone(envelope)
			bad[uint(at)%uint(len(bad))] ^= flip
			if _, _, err := guard.OpenEnvelope(nil, key, bad); err == nil && flip != 0 {
				t.Errorf("the changed envelope %q is accepted; the original is %q", bad, envelope)
			}
			checkAccepted(t, sealing, key, bad)
			checkAccepted(t, sealing, key, bad[:uint(at)%uint(len(bad))])
			checkAccepted(t, sealing, key, append(bad, raw...))
		}
	})
}

// checkAccepted checks that an envelope is rejected unless packing its content gives the same
// bytes, and that an encrypting guard accepts neither result nor error from it.
func checkAccepted(t *testing.T, sealing *guard.Ring, key string, envelope []byte) {
	t.Helper()
	what, text, err := guard.OpenEnvelope(nil, key, envelope)
	if err == nil && !bytes.Equal(envelope, guard.LocalEnvelope(key, what, text)) && !bytes.Equal(envelope, guard.PlainEnvelope(key, what, text)) {
		t.Errorf("the forged envelope %q is accepted", envelope)
	}
	if what, _, err := guard.OpenEnvelope(sealing, key, envelope); err == nil && (what == 'v' || what == 'f') {
		t.Errorf("%q is accepted without encryption", envelope)
	}
}
