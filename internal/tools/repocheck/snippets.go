package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"
)

// snippets checks that the Go code in the README, and in every page that names a
// source, is code that compiles and runs. A go block follows a comment:
//
//	<!-- from: example_test.go#ExampleMutex_Do -->
//
// The block is the body of that function, without its Output comment. With ## it is
// the whole function and its comment; without a function it is the whole file. With
// -fix, snippets copies the sources into the pages.
func snippets(t tree) (summary string, wrong []string, err error) {
	blocks := 0
	for _, name := range t.files {
		if path.Ext(name) != ".md" {
			continue
		}
		text, err := t.read(name)
		if err != nil {
			return "", nil, err
		}
		if !strings.HasPrefix(name, "README.") && !from.MatchString(text) {
			continue
		}
		n, errs, err := t.snippetsOf(name, text)
		if err != nil {
			return "", nil, err
		}
		blocks += n
		wrong = append(wrong, errs...)
	}
	return fmt.Sprintf("%d go blocks, %d not cut from an example", blocks, len(wrong)), wrong, nil
}

var from = regexp.MustCompile(`(?m)^<!-- from: (\S+) -->$`)

// snippetsOf compares the blocks of one page with their sources, or rewrites them.
func (t tree) snippetsOf(name, text string) (blocks int, wrong []string, err error) {
	var page, code strings.Builder
	source, opened := "", 0 // of the current block; opened is the line of its fence
	for i, line := range strings.SplitAfter(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case opened > 0 && trimmed == "```":
			want, err := t.cut(source)
			if err != nil {
				wrong = append(wrong, fmt.Sprintf("%s:%d: %v", name, opened, err))
			} else if !t.fix && code.String() != want {
				wrong = append(wrong, fmt.Sprintf("%s:%d: differs from %s (make fmt)", name, opened, source))
			}
			page.WriteString(want + line)
			source, opened = "", 0
		case opened > 0:
			code.WriteString(line)
		default:
			page.WriteString(line)
			if trimmed == "```go" {
				blocks, opened = blocks+1, i+1
				code.Reset()
			} else if m := from.FindStringSubmatch(trimmed); m != nil {
				source = m[1]
			} else if trimmed != "" {
				source = ""
			}
		}
	}
	if t.fix && len(wrong) == 0 && page.String() != text {
		err = t.write(name, page.String())
	}
	return blocks, wrong, err
}

// outputComment matches the comment that says what an example prints.
var outputComment = regexp.MustCompile(`(?ims)^[ \t]*// *(?:unordered )?output:.*\z`)

// cut returns the code that a from comment names.
func (t tree) cut(source string) (string, error) {
	if source == "" {
		return "", errors.New("no <!-- from: FILE#Example --> before this block")
	}
	name, function, part := strings.Cut(source, "#")
	src, err := t.read(name)
	if err != nil {
		return "", fmt.Errorf("%s: no such file", name)
	}
	if !part {
		return src, nil
	}
	function, whole := strings.CutPrefix(function, "#")
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, "", src, parser.ParseComments)
	if err != nil {
		return "", err
	}
	between := func(from, to token.Pos) string {
		return src[files.Position(from).Offset:files.Position(to).Offset]
	}
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		switch {
		case !ok || f.Name.Name != function || f.Recv != nil && !whole:
		case whole && f.Doc != nil:
			return between(f.Doc.Pos(), f.End()) + "\n", nil
		case whole:
			return between(f.Pos(), f.End()) + "\n", nil
		default: // the body, one level to the left
			text := outputComment.ReplaceAllString(between(f.Body.Lbrace+1, f.Body.Rbrace), "")
			text = strings.ReplaceAll(strings.Trim(text, "\n"), "\n\t", "\n")
			return strings.TrimSpace(text) + "\n", nil
		}
	}
	return "", fmt.Errorf("no function %s", function)
}
