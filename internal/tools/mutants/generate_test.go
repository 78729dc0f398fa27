package main

import (
	"slices"
	"testing"
)

const grown = `package p

func f(a, b int, m *mutex) (n int) {
	m.Lock()
	if a < b && b != 7 {
		n++
		report(true)
	}
	return n - 1
}
`

func TestGenerate(t *testing.T) {
	changes, err := generateFile("p/file.go", []byte(grown))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range changes {
		if grown[c.at:c.at+len(c.old)] != c.old {
			t.Errorf("%s: the old text %q is not at offset %d", c.name, c.old, c.at)
		}
		got = append(got, c.name+": "+c.old+" → "+c.new)
	}
	want := []string{
		"file/f.negate.1: a < b && b != 7 → !(a < b && b != 7)",
		"file/f.swap.1: && → ||",
		"file/f.swap.2: < → <=",
		"file/f.swap.3: != → ==",
		"file/f.count.1: 7 → 8",
		"file/f.drop.1: n++ → ",
		"file/f.drop.2: report(true) → ",
		"file/f.flip.1: true → false",
		"file/f.swap.4: - → +",
		"file/f.count.2: 1 → 2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("generate =\n%q\nwant\n%q", got, want)
	}
}

func TestSampleIsStable(t *testing.T) {
	changes, err := generateFile("p/file.go", []byte(grown))
	if err != nil {
		t.Fatal(err)
	}
	a, b := sample(changes, 3), sample(slices.Clone(changes), 3)
	if len(a) != 3 || !slices.Equal(a, b) {
		t.Errorf("two samples are %v and %v, want the same 3 mutants", a, b)
	}
}
