// Package snippets is what the demo's page shows of Go: a file for each way to use
// the library, compiled and tested like everything else, and shown as it is.
package snippets

import (
	"embed"
	"strings"
)

//go:embed free.go window.go click.go once.go wait.go fair.go readers.go lock.go
var files embed.FS

// Of returns what a file says after its imports.
func Of(file string) (string, error) {
	text, err := files.ReadFile(file)
	if err != nil {
		return "", err
	}
	_, body, _ := strings.Cut(string(text), "\n)\n")
	return strings.TrimSpace(body) + "\n", nil
}
