package main

import (
	"slices"
	"testing"
)

func TestIDs(t *testing.T) {
	src := `package p

// TestX proves L3 and S10, not XL4 or T123.
func TestX[T1 any](t *testing.T) { t.Run("T4: only by the owner", nil) }
`
	if got, want := idsIn(src), []string{"L3", "S10", "T4"}; !slices.Equal(got, want) {
		t.Errorf("ids are %v, want %v", got, want)
	}
}

func TestIsTest(t *testing.T) {
	for name, want := range map[string]bool{
		"mutex_test.go":                          true,
		"mutex.go":                               false,
		"engine/enginetest/laws.go":              true,
		"engine/enginetest/README.md":            false,
		"internal/tools/repocheck/links_test.go": false,
	} {
		if isTest(name) != want {
			t.Errorf("isTest(%q) is not %v", name, want)
		}
	}
}
