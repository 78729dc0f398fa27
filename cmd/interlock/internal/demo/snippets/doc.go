// Package snippets contains the Go code that the demo's page shows. Each file is one way
// to use the library, compiled and tested.
package snippets

import (
	"embed"
	"strings"
)

//go:embed free.go window.go click.go once.go wait.go fair.go readers.go lock.go
var files embed.FS

// Of returns a file's content after its imports.
func Of(file string) (string, error) {
	text, err := files.ReadFile(file)
	if err != nil {
		return "", err
	}
	_, body, _ := strings.Cut(string(text), "\n)\n")
	return strings.TrimSpace(body) + "\n", nil
}
