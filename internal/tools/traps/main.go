// Traps checks the list of traps in docs/traps.md: that none is left out, that
// each has a test or a reason why it has none, and that the tests are there. It
// cannot tell whether a test is any good; it makes sure that no proof is lost
// when a test is renamed or removed.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/interlock-go/interlock/internal/tools/repo"
)

// list is where the traps are written down.
const list = "docs/traps.md"

func main() {
	repo.Run(func(root string, files []string) (string, []string, error) {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(list)))
		if err != nil {
			return "", nil, err
		}
		rows, wrong := parse(string(text))
		ts, err := read(os.DirFS(root), files)
		if err != nil {
			return "", nil, err
		}
		n, more := check(rows, ts)
		return n.String(), append(wrong, more...), nil
	})
}

// A count is how many traps there are, and how many have a test.
type count struct{ traps, tested, items, itemsTested, tests int }

func (n count) String() string {
	return fmt.Sprintf("traps: %d of %d traps and %d of %d security items have a test, %d tests are named",
		n.tested, n.traps, n.itemsTested, n.items, n.tests)
}
