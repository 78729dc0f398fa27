package weaving_test

import "testing"

// Requirement P8: every build mode on every kind of project weaves the locks and keeps
// source positions. The full form runs all 168 cells. The short form runs each mode once,
// with alternating projects and ways to weave.
func TestWeavingMatrix(t *testing.T) {
	cells := 0
	for row, tr := range trees {
		t.Run(tr.name, func(t *testing.T) {
			tr := tr.make(t)
			for column, m := range modes {
				for i, form := range forms {
					// This choice gives -race and -trimpath to the overlay: with -toolexec
					// they would recompile the standard library.
					if testing.Short() && (row != column%len(trees) || i == column%2) {
						continue
					}
					cells++
					t.Run(m.name+" "+form, func(t *testing.T) {
						m.run(&cell{T: t, tree: tr, form: form, out: t.TempDir()})
					})
				}
			}
		})
	}
	t.Logf("cells: %d of %d", cells, len(trees)*len(modes)*len(forms))
}
