// Links checks that every relative link in the repository's Markdown files
// leads somewhere: to a file that is here and, if it names one, a heading in
// it. Links to other sites are not followed.
package main

import (
	"fmt"
	"os"

	"github.com/interlock-go/interlock/internal/tools/repo"
)

func main() {
	repo.Run(func(root string, files []string) (string, []string, error) {
		followed, broken := check(os.DirFS(root), files)
		return fmt.Sprintf("links: %d followed, %d broken", followed, len(broken)), broken, nil
	})
}
