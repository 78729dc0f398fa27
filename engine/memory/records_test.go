package memory

import "testing"

// TestRecords tries every order in which three keys with one hash, and a fourth
// with another, can come and go. It is inside the package since nobody outside can
// find two keys with one hash.
func TestRecords(t *testing.T) {
	those := []*record{hashed("a", 7), hashed("b", 7), hashed("c", 7), hashed("d", 8)}
	const steps = 7
	orders := 1
	for range steps {
		orders *= len(those)
	}
	for order := range orders {
		x, kept := newRecords(), make(map[string]*record)
		said := ""
		for left, n := order, 0; n < steps; left, n = left/len(those), n+1 {
			r := those[left%len(those)]
			if kept[r.key] == nil {
				x.add(r)
				kept[r.key] = r
				said += " +" + r.key
			} else {
				x.remove(&r.entry)
				delete(kept, r.key)
				said += " -" + r.key
			}
			checkRecords(t, &x, kept, those, said)
		}
	}
}

func hashed(key string, hash uint64) *record {
	return &record{entry: entry{key: key, hash: hash, sort: aRecord}}
}

// checkRecords checks that x finds what is kept of those, each once, and nothing
// else.
func checkRecords(t *testing.T, x *records, kept map[string]*record, those []*record, said string) {
	for _, r := range those {
		if found := x.find(r.key, r.hash); found != kept[r.key] {
			t.Fatalf("after%s: finding %q: %v, want %v", said, r.key, found, kept[r.key])
		}
	}
	if found := x.find("e", 7); found != nil {
		t.Fatalf("after%s: found %q for a key that never was", said, found.key)
	}
	n := 0
	for r := range x.all {
		n++
		if kept[r.key] != r {
			t.Fatalf("after%s: %q is among all", said, r.key)
		}
	}
	if n != len(kept) {
		t.Fatalf("after%s: all are %d, want %d", said, n, len(kept))
	}
	for range x.all { // who stops looking is not told of more
		n++
		break
	}
	if want := len(kept) + min(1, len(kept)); n != want {
		t.Fatalf("after%s: it went on after the end", said)
	}
}
