package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// budgetPage contains the limit of each pattern: a count and a name per line.
const budgetPage = "internal/tools/repocheck/prose.budget"

// proseShapes are patterns that make prose hard to read, by name. Each is matched against
// one paragraph.
var proseShapes = map[string]*regexp.Regexp{
	"who-what":  regexp.MustCompile(`(?:^|[.!?:]["')]*\s+)(?:Who|What|Whoever|One that)\b|^(?:who|what|whoever|one that)\b`),
	"somebody":  regexp.MustCompile(`(?i)\b(?:somebody|nobody|whoever|anybody)\b`),
	"is-none":   regexp.MustCompile(`(?i)\bis none\b`),
	"he":        regexp.MustCompile(`(?i)\b(?:he|his|him)\b`),
	"not-shape": regexp.MustCompile(`(?i)\bhas not the shape\b`),
}

// prose counts these patterns in Go and Lua comments, in Go strings of three words or more,
// and in English pages. A count above the budget is an error. With -v it prints every place.
// With paths it counts only below them, and ignores the budget.
func prose(t tree) (summary string, wrong []string, err error) {
	counts := make(map[string]int)
	for _, name := range t.files {
		if !t.below(name) || strings.HasSuffix(name, ".zh-CN.md") {
			continue
		}
		paragraphs, err := t.paragraphs(name)
		if err != nil {
			return "", nil, err
		}
		for _, p := range paragraphs {
			for _, shape := range slices.Sorted(maps.Keys(proseShapes)) {
				for _, at := range proseShapes[shape].FindAllStringIndex(p.text, -1) {
					if shape == "who-what" && isQuestion(p.text[at[1]:]) {
						continue
					}
					counts[shape]++
					if t.verbose {
						line := p.line + strings.Count(p.text[:at[1]], "\n")
						fmt.Printf("%s:%d: %s: %s\n", name, line, shape, excerpt(p.text, at))
					}
				}
			}
		}
	}
	budget, err := t.budget()
	if err != nil {
		return "", nil, err
	}
	var sums []string
	for _, shape := range slices.Sorted(maps.Keys(proseShapes)) {
		if len(t.paths) == 0 && counts[shape] > budget[shape] {
			wrong = append(wrong, fmt.Sprintf("%s: %d places, %s allows %d (repocheck prose -v lists them)", shape, counts[shape], budgetPage, budget[shape]))
		}
		sums = append(sums, fmt.Sprintf("%s %d of %d", shape, counts[shape], budget[shape]))
	}
	return strings.Join(sums, ", "), wrong, nil
}

func (t tree) budget() (map[string]int, error) {
	text, err := t.read(budgetPage)
	if err != nil {
		return nil, err
	}
	budget := make(map[string]int)
	for line := range strings.Lines(text) {
		var n int
		var shape string
		if _, err := fmt.Sscan(line, &n, &shape); err != nil || proseShapes[shape] == nil {
			return nil, fmt.Errorf("%s: want a count and a name, not %q", budgetPage, line)
		}
		budget[shape] = n
	}
	return budget, nil
}

// below reports whether a file is below one of the paths of the command line.
func (t tree) below(name string) bool {
	return len(t.paths) == 0 || slices.ContainsFunc(t.paths, func(p string) bool {
		p = path.Clean(p)
		return p == "." || name == p || strings.HasPrefix(name, p+"/")
	})
}

var sentenceEnd = regexp.MustCompile(`[.!?]["')]*(?:\s|$)`)

// isQuestion reports whether the sentence that ends in rest is a question.
func isQuestion(rest string) bool {
	at := sentenceEnd.FindStringIndex(rest)
	return at != nil && rest[at[0]] == '?'
}

// excerpt returns the words around a match, on one line.
func excerpt(text string, at []int) string {
	from, to := max(0, at[0]-20), min(len(text), at[1]+50)
	return strings.Join(strings.Fields(strings.ToValidUTF8(text[from:to], "")), " ")
}

// A paragraph is a paragraph of prose, with its first line.
type paragraph struct {
	line int
	text string
}

// paragraphs returns the prose of a file. It returns none for files that contain the
// patterns themselves.
func (t tree) paragraphs(name string) ([]paragraph, error) {
	dir, base := path.Split(name)
	if strings.Contains(dir, "testdata/") || dir == "internal/tools/repocheck/" && strings.HasPrefix(base, "prose") {
		return nil, nil
	}
	text, err := t.read(name)
	if err != nil {
		return nil, err
	}
	switch {
	case path.Ext(name) == ".md":
		return markdown(text), nil
	case path.Ext(name) == ".lua":
		return luaComments(text), nil
	case path.Ext(name) == ".go":
		return goProse(name, text)
	}
	return nil, nil
}

var (
	listMark   = regexp.MustCompile(`^\s*(?:[-*+]|\d+\.)\s+|^\s*>\s?`)
	emphasis   = regexp.MustCompile(`\*+|\b_|_\b|<br>`)
	tableBreak = regexp.MustCompile(`\s*\|\s*`)
)

// markdown returns the prose of a page without code. Each heading, list item and table cell
// is a paragraph.
func markdown(text string) []paragraph {
	var p prosePage
	for i, line := range proseLines(text) {
		line = emphasis.ReplaceAllString(inlineCode.ReplaceAllString(line, "x"), "")
		switch {
		case heading.MatchString(line):
			p.end()
			p.add(i+1, heading.FindStringSubmatch(line)[1])
			p.end()
		case strings.HasPrefix(line, "|"):
			p.end()
			for _, cell := range tableBreak.Split(line, -1) {
				p.add(i+1, cell)
				p.end()
			}
		case listMark.MatchString(line):
			p.end()
			p.add(i+1, listMark.ReplaceAllString(line, ""))
		default:
			p.add(i+1, line)
		}
	}
	p.end()
	return p.done
}

// luaComments returns the comments of a script.
func luaComments(text string) []paragraph {
	var p prosePage
	for i, line := range strings.Split(text, "\n") {
		_, comment, _ := strings.Cut(line, "--")
		p.add(i+1, comment)
	}
	p.end()
	return p.done
}

// goProse returns the comments of a Go file, without directives and code, and its
// strings of three words or more.
func goProse(name, src string) ([]paragraph, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var p prosePage
	for _, group := range file.Comments {
		for _, c := range group.List {
			text, isLine := strings.CutPrefix(c.Text, "//")
			switch {
			case !isLine:
				text = strings.TrimSuffix(strings.TrimPrefix(text, "/*"), "*/")
			case !strings.HasPrefix(text, " "): // a directive, or indented code
				text = ""
			}
			p.add(files.Position(c.Pos()).Line, text)
		}
		p.end()
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && len(strings.Fields(text)) >= 3 {
				p.add(files.Position(lit.Pos()).Line, text)
				p.end()
			}
		}
		return true
	})
	return p.done, nil
}

// A prosePage collects paragraphs.
type prosePage struct {
	done []paragraph
	open paragraph
}

// add appends a line to the open paragraph. An empty line ends the paragraph.
func (p *prosePage) add(line int, text string) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		p.end()
	case p.open.text == "":
		p.open = paragraph{line, text}
	default:
		p.open.text += "\n" + text
	}
}

func (p *prosePage) end() {
	if p.open.text != "" {
		p.done = append(p.done, p.open)
	}
	p.open = paragraph{}
}
