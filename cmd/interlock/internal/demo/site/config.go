package site

import (
	_ "embed"
	"strings"
)

//go:embed demo.yaml
var rules string

// Config returns the configuration file of the demo's gateway.
func Config(listen, shop, engine string) string {
	return strings.NewReplacer("LISTEN", listen, "SHOP", shop, "ENGINE", engine).Replace(rules)
}

// excerpt returns the text of the rules with the given matches. It cuts text instead of
// printing the parsed rule, to keep the file's own form and comments.
func excerpt(text string, matches ...string) string {
	var b strings.Builder
	for _, m := range matches {
		_, rest, found := strings.Cut(text, "  - match: "+m+"\n")
		if !found {
			continue
		}
		b.WriteString("- match: " + m + "\n")
		for line := range strings.Lines(rest) {
			if !strings.HasPrefix(line, "    ") {
				break
			}
			b.WriteString(line[2:]) // without the indentation of the list
		}
	}
	return b.String()
}
