package main

import (
	"regexp"
	"strings"
)

// A page is a Markdown file, taken apart at its go blocks.
type page struct {
	texts  []string // what stands before each block, and after the last
	blocks []block
}

// A block is the code between two fences.
type block struct {
	line int    // of the opening fence
	from string // what the comment before it names; empty if there is none
	code string
}

var comment = regexp.MustCompile(`^<!-- from: (\S+) -->$`)

// parse takes a page apart.
func parse(text string) page {
	var p page
	var prose, code strings.Builder
	from, inside := "", false
	for i, line := range strings.SplitAfter(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case inside && trimmed == "```":
			p.blocks[len(p.blocks)-1].code = code.String()
			code.Reset()
			prose.WriteString(line)
			from, inside = "", false
		case inside:
			code.WriteString(line)
		case trimmed == "```go":
			prose.WriteString(line)
			p.texts = append(p.texts, prose.String())
			prose.Reset()
			p.blocks = append(p.blocks, block{line: i + 1, from: from})
			inside = true
		default:
			prose.WriteString(line)
			if m := comment.FindStringSubmatch(trimmed); m != nil {
				from = m[1]
			} else if trimmed != "" {
				from = ""
			}
		}
	}
	p.texts = append(p.texts, prose.String())
	return p
}

// String puts the page together again.
func (p page) String() string {
	var b strings.Builder
	for i, text := range p.texts {
		b.WriteString(text)
		if i < len(p.blocks) {
			b.WriteString(p.blocks[i].code)
		}
	}
	return b.String()
}
