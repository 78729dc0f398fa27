package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// A page is what the check needs to know of a Markdown file.
type page struct {
	links   []link
	anchors map[string]bool
}

// A link is where a page points to, and in which of its lines.
type link struct {
	line   int
	target string
}

var (
	fence     = regexp.MustCompile("^\\s*(```|~~~)")
	code      = regexp.MustCompile("`+[^`]*`+")
	heading   = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*$`)
	inline    = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)`)
	reference = regexp.MustCompile(`^\s*\[[^\]]+\]:\s*<?(\S+?)>?(?:\s|$)`)
	attribute = regexp.MustCompile(`(?:href|src|srcset)="([^"]+)"`)
	anchor    = regexp.MustCompile(`<a\s+(?:id|name)="([^"]+)"`)
	linkText  = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
)

// parse reads a page. Code is text to it: what looks like a link there is none.
func parse(text string) page {
	p := page{anchors: make(map[string]bool)}
	seen := make(map[string]int)
	fenced := false
	for i, line := range strings.Split(text, "\n") {
		if fence.MatchString(line) {
			fenced = !fenced
			continue
		}
		if fenced {
			continue
		}
		if m := heading.FindStringSubmatch(line); m != nil {
			name := slug(m[1])
			if n := seen[name]; n > 0 {
				p.anchors[fmt.Sprintf("%s-%d", name, n)] = true
			} else {
				p.anchors[name] = true
			}
			seen[name]++
		}
		for _, m := range anchor.FindAllStringSubmatch(line, -1) {
			p.anchors[m[1]] = true
		}
		line = code.ReplaceAllString(line, "`code`")
		for _, shape := range []*regexp.Regexp{inline, reference, attribute} {
			for _, m := range shape.FindAllStringSubmatch(line, -1) {
				p.links = append(p.links, link{line: i + 1, target: m[1]})
			}
		}
	}
	return p
}

// slug makes the anchor of a heading as the usual Markdown hosts do: lower
// case, without punctuation, spaces as hyphens.
func slug(title string) string {
	title = linkText.ReplaceAllString(title, "$1")
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r == ' ' || r == '-':
			b.WriteByte('-')
		case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}
