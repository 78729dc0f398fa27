// Snippets checks that the Go code in the pages for users is code that compiles and
// runs: every go block follows a comment that names an example,
//
//	<!-- from: example_test.go#ExampleMutex_Do -->
//
// and is the body of that function, without its Output comment; with ## before
// its name it is the whole of it, with the comment above. Without a function it is
// the whole file. With -w the blocks are cut anew.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/interlock-go/interlock/internal/tools/repo"
)

var pages = []string{"README.md", "README.zh-CN.md", "docs/engines.md", "docs/engines.zh-CN.md"}

func main() {
	write := flag.Bool("w", false, "cut the blocks anew instead of comparing them")
	flag.Parse()
	repo.Run(func(root string, _ []string) (string, []string, error) {
		var blocks int
		var wrong []string
		for _, name := range pages {
			n, complaints, err := look(root, name, *write)
			if err != nil {
				return "", nil, err
			}
			blocks += n
			wrong = append(wrong, complaints...)
		}
		return fmt.Sprintf("snippets: %d go blocks, %d not cut from an example", blocks, len(wrong)), wrong, nil
	})
}

// look compares the blocks of one page, or writes them.
func look(root, name string, write bool) (blocks int, wrong []string, err error) {
	file := filepath.Join(root, name)
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	p := parse(string(text))
	for i := range p.blocks {
		b := &p.blocks[i]
		want, err := cut(root, b.from)
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Sprintf("%s:%d: %v", name, b.line, err))
		case write:
			b.code = want
		case b.code != want:
			wrong = append(wrong, fmt.Sprintf("%s:%d: differs from %s (make fmt)", name, b.line, b.from))
		}
	}
	if write && len(wrong) == 0 && p.String() != string(text) {
		err = os.WriteFile(file, []byte(p.String()), 0o644)
	}
	return len(p.blocks), wrong, err
}
