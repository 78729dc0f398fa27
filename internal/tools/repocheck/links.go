package main

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// links checks that the file and the heading of every relative link in a Markdown file
// exist. It does not follow links to other sites.
func links(t tree) (summary string, wrong []string, err error) {
	pages := make(map[string]page)
	exists := map[string]bool{".": true}
	for _, name := range t.files {
		if path.Ext(name) == ".md" && !slices.Contains(strings.Split(name, "/"), "testdata") {
			text, err := t.read(name)
			if err != nil {
				return "", nil, err
			}
			pages[name] = readPage(text)
		}
		for dir := name; dir != "."; dir = path.Dir(dir) { // a link to a directory is fine
			exists[dir] = true
		}
	}
	followed := 0
	for _, name := range t.files {
		for _, l := range pages[name].links {
			u, err := url.Parse(l.target)
			if err == nil && (u.Scheme != "" || u.Host != "") {
				continue
			}
			followed++
			why := "not a valid link"
			if err == nil {
				why = follow(name, u, pages, exists)
			}
			if why != "" {
				wrong = append(wrong, fmt.Sprintf("%s:%d: %s: %s", name, l.line, l.target, why))
			}
		}
	}
	return fmt.Sprintf("%d followed, %d broken", followed, len(wrong)), wrong, nil
}

// follow returns why a link from a page is broken, or an empty string.
func follow(from string, u *url.URL, pages map[string]page, exists map[string]bool) string {
	to := from
	switch {
	case strings.HasPrefix(u.Path, "/"):
		to = path.Clean("." + u.Path)
	case u.Path != "":
		to = path.Join(path.Dir(from), u.Path)
	}
	if !exists[to] {
		return "no such file"
	}
	if p, ok := pages[to]; ok && u.Fragment != "" && !p.anchors[u.Fragment] {
		return "no such heading"
	}
	return ""
}

// A page holds the links of a Markdown file, and the anchors that links may name.
type page struct {
	links   []link
	anchors map[string]bool
}

type link struct {
	line   int
	target string
}

var (
	fence       = regexp.MustCompile("^\\s*(```|~~~)")
	inlineCode  = regexp.MustCompile("`+[^`]*`+")
	heading     = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*$`)
	anchor      = regexp.MustCompile(`<a\s+(?:id|name)="([^"]+)"`)
	linkText    = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	linkTargets = []*regexp.Regexp{
		regexp.MustCompile(`\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)`),
		regexp.MustCompile(`^\s*\[[^\]]+\]:\s*<?(\S+?)>?(?:\s|$)`),
		regexp.MustCompile(`(?:href|src|srcset)="([^"]+)"`),
	}
)

// readPage reads a page. Links inside code do not count.
func readPage(text string) page {
	p := page{anchors: make(map[string]bool)}
	seen := make(map[string]int)
	for i, line := range proseLines(text) {
		if m := heading.FindStringSubmatch(line); m != nil {
			name := slug(m[1])
			n := seen[name]
			seen[name]++
			if n > 0 {
				name = fmt.Sprintf("%s-%d", name, n)
			}
			p.anchors[name] = true
		}
		for _, m := range anchor.FindAllStringSubmatch(line, -1) {
			p.anchors[m[1]] = true
		}
		line = inlineCode.ReplaceAllString(line, "`code`")
		for _, shape := range linkTargets {
			for _, m := range shape.FindAllStringSubmatch(line, -1) {
				p.links = append(p.links, link{line: i + 1, target: m[1]})
			}
		}
	}
	return p
}

// proseLines returns the lines of a Markdown page; those of code blocks are empty.
func proseLines(text string) []string {
	lines, fenced := strings.Split(text, "\n"), false
	for i, line := range lines {
		isFence := fence.MatchString(line)
		if isFence || fenced {
			lines[i] = ""
		}
		fenced = fenced != isFence
	}
	return lines
}

// slug returns the anchor of a heading as Markdown hosts make it: lower case,
// without punctuation, hyphens for spaces.
func slug(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ' || r == '-':
			return '-'
		case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return r
		}
		return -1
	}, strings.ToLower(linkText.ReplaceAllString(title, "$1")))
}
