package guard_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
)

// hashed returns a key as the engine stores it.
func hashed(t testing.TB, g *guard.Guard[int], k guard.Key) string {
	t.Helper()
	s, err := g.Lookup(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return s.Key
}

func newGuard(t testing.TB, p guard.Policy, opts ...guard.Option) *guard.Guard[int] {
	t.Helper()
	return guard.Must(guard.New[int](interlock.New(nil), p, opts...))
}

func TestBadKeys(t *testing.T) {
	long := strings.Repeat("x", 1025)
	for name, c := range map[string]struct {
		scope guard.Scope
		key   guard.Key
	}{
		"no id":            {guard.PerUser, guard.Of("ann", "")},
		"no user":          {guard.PerUser, guard.ID("1")},
		"no route":         {guard.PerRoute, guard.Of("ann", "1")},
		"long id":          {guard.Global, guard.ID(long)},
		"long user":        {guard.PerUser, guard.Of(long, "1")},
		"long route":       {guard.PerRoute, guard.Key{User: "ann", Route: long, ID: "1"}},
		"long fingerprint": {guard.Global, guard.Key{ID: "1", Fingerprint: long}},
	} {
		g := newGuard(t, guard.Policy{Name: "x", Scope: c.scope})
		ctx, claim, err := g.Begin(t.Context(), c.key)
		if !errors.Is(err, interlock.ErrKey) || claim != nil || ctx != t.Context() {
			t.Errorf("%s: Begin = %v, %v; want no claim and ErrKey", name, claim, err)
		}
	}
	g := newGuard(t, guard.Policy{Name: "x"})
	if _, _, err := g.Begin(t.Context(), guard.Of(long[1:], long[1:])); err != nil {
		t.Errorf("Begin with parts of 1024 bytes = %v, want nil", err)
	}
	if _, _, err := g.Begin(t.Context(), guard.Of("\x00{}:*\xff", "{\n}")); err != nil {
		t.Errorf("Begin with unusual characters = %v, want nil", err)
	}
}

// TestDelimiters moves the borders between the parts of a key.
func TestDelimiters(t *testing.T) {
	seen := make(map[string]string)
	try := func(g *guard.Guard[int], k guard.Key, what string) {
		h := hashed(t, g, k)
		if earlier, ok := seen[h]; ok {
			t.Errorf("%s and %s are the same key", what, earlier)
		}
		seen[h] = what
	}
	perUser, global, perRoute := newGuard(t, guard.Policy{Name: "x"}), newGuard(t, guard.Policy{Name: "x", Scope: guard.Global}),
		newGuard(t, guard.Policy{Name: "x", Scope: guard.PerRoute})
	try(perUser, guard.Of("a:b", "c"), "a:b + c")
	try(perUser, guard.Of("a", "b:c"), "a + b:c")
	try(perUser, guard.Of("a:b:c", "d"), "a:b:c + d")
	try(perUser, guard.Of("a", "\x00\x00\x00\x01b"), "a + length and b")
	try(perUser, guard.Of("a\x00\x00\x00\x01b", "c"), "a, length and b + c")
	try(global, guard.ID("c"), "c for all")
	try(global, guard.ID("a:c"), "a:c for all")
	try(perRoute, guard.Key{User: "a", Route: "b", ID: "c"}, "a, b, c")
	try(perRoute, guard.Key{User: "a", Route: "bc", ID: "d"}, "a, bc, d")
	try(perRoute, guard.Key{User: "a", Route: "b", ID: "cd"}, "a, b, cd")
	try(newGuard(t, guard.Policy{Name: "x:y"}), guard.Of("a", "c"), "x:y, a, c")
	try(newGuard(t, guard.Policy{Name: "x"}), guard.Of("y:a", "c"), "x, y:a, c")
	try(newGuard(t, guard.Policy{Name: "{x}"}), guard.Of("a", "c"), "{x}, a, c")
	try(newGuard(t, guard.Policy{Name: "x"}, guard.HashWith([]byte(strings.Repeat("s", 16)))), guard.Of("a", "c"), "with a secret")
	try(newGuard(t, guard.Policy{Name: "x"}, guard.HashWith([]byte(strings.Repeat("t", 16)))), guard.Of("a", "c"), "with another")
	if hashed(t, global, guard.Key{User: "u", Route: "r", ID: "c"}) != hashed(t, global, guard.ID("c")) {
		t.Error("a global key depends on the user")
	}
	if a, b := guard.ID("x").For([]byte("ab"), []byte("c")), guard.ID("x").For([]byte("a"), []byte("bc")); a.Fingerprint == b.Fingerprint {
		t.Error("ab + c and a + bc have the same fingerprint")
	}
}

// TestHashIsStable pins the stored form of a key: with another hash, all records would be
// out of reach after an upgrade.
func TestHashIsStable(t *testing.T) {
	g := newGuard(t, guard.Policy{Name: "order"})
	if got, want := hashed(t, g, guard.Of("ann", "1")), "order:icuXJFBoAsC558zyZFNcK5hP49YXzp6CxU0Zf4qQp5g"; got != want {
		t.Errorf("the key is %q, want %q", got, want)
	}
}

// FuzzKey looks for two different keys with the same hash.
func FuzzKey(f *testing.F) {
	f.Add("a:b", "c", "a", "b:c")
	f.Add("", "c", "a", "")
	f.Add("a\x00", "b", "a", "\x00b")
	f.Fuzz(func(t *testing.T, user, id, otherUser, otherID string) {
		if user == "" || id == "" || otherUser == "" || otherID == "" ||
			max(len(user), len(id), len(otherUser), len(otherID)) > 1024 {
			t.Skip()
		}
		g := newGuard(t, guard.Policy{Name: "x"})
		same := user == otherUser && id == otherID
		if (hashed(t, g, guard.Of(user, id)) == hashed(t, g, guard.Of(otherUser, otherID))) != same {
			t.Errorf("%q + %q and %q + %q: equal keys: %v, and equal hashes: %v", user, id, otherUser, otherID, same, !same)
		}
	})
}

// FuzzToken looks for a forged token that is accepted.
func FuzzToken(f *testing.F) {
	ts, err := guard.NewTokens(1<<40, []byte(strings.Repeat("s", 32)))
	if err != nil {
		f.Fatal(err)
	}
	good := ts.Issue("ann", "form") // not in the corpus: fuzzing uses several processes, each with its own token
	f.Add(0, byte(0), "")
	f.Add(1, byte(1), "")
	f.Add(40, byte('A'), "=")
	f.Fuzz(func(t *testing.T, at int, b byte, tail string) {
		token := []byte(good + tail)
		token[(at%len(token)+len(token))%len(token)] ^= b
		if k, err := ts.Redeem(string(token), "ann", "form"); err == nil && string(token) != good {
			t.Errorf("the forged token %q is accepted as %+v", token, k)
		}
	})
}
