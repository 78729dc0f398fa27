package weaving_test

import "testing"

// P8: whatever is built, by whichever command and of whichever tree, has its locks
// and knows where it is. All of the 112 cells exist, none is left out. The short
// form has each way to build and each tree once, with both ways to weave by turns.
func TestWeavingMatrix(t *testing.T) {
	cells := 0
	for row, tr := range trees {
		t.Run(tr.name, func(t *testing.T) {
			tr := tr.make(t)
			for column, m := range modes {
				for i, form := range forms {
					// By these turns the overlay has -race and -trimpath, for which
					// the other way would compile the standard library once more.
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
