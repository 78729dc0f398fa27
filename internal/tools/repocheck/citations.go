package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// A citation names a test in a page: `file_test.go: TestName/sentence`, or
// `engine/enginetest/laws_claim.go: sentence` for a law.
type citation struct{ file, function, sentence string }

var codeSpan = regexp.MustCompile("`([^`]+)`")

// citations returns the tests that a text cites. Other code in it is ignored.
func citations(text string) (cited []citation) {
	for _, span := range codeSpan.FindAllStringSubmatch(text, -1) {
		file, name, ok := strings.Cut(span[1], ": ")
		if !ok || !strings.HasSuffix(file, ".go") {
			continue
		}
		c := citation{file: file, sentence: name}
		if !isLaws(file) {
			c.function, c.sentence, _ = strings.Cut(name, "/")
		}
		cited = append(cited, c)
	}
	return cited
}

// tests contains the functions and strings that citations can name.
type tests struct {
	functions map[string]map[string]bool // test functions, by directory and by file
	literals  map[string]map[string]bool // strings, by file
}

var testName = regexp.MustCompile(`^(?:Test|Fuzz|Example)`)

// tests reads all tests and laws of the tree.
func (t tree) tests() (tests, error) {
	found := tests{make(map[string]map[string]bool), make(map[string]map[string]bool)}
	for _, name := range t.files {
		if !strings.HasSuffix(name, "_test.go") && !isLaws(name) {
			continue
		}
		src, err := t.read(name)
		if err == nil {
			err = found.add(name, src)
		}
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// isLaws reports whether a file contains laws, which the tests of every engine run.
func isLaws(name string) bool {
	return path.Dir(name) == "engine/enginetest" && path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go")
}

func (ts tests) add(name, src string) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ts.literals[name] = make(map[string]bool)
	for _, where := range []string{name, path.Dir(name)} {
		if ts.functions[where] == nil {
			ts.functions[where] = make(map[string]bool)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil && testName.MatchString(n.Name.Name) {
				ts.functions[name][n.Name.Name] = true
				ts.functions[path.Dir(name)][n.Name.Name] = true
			}
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				ts.literals[name][text] = true
			}
		}
		return true
	})
	return nil
}

// missing returns which part of a citation does not exist, or an empty string. The
// function that runs a sentence may be in another file of its package.
func (ts tests) missing(c citation) string {
	where := c.file
	if c.sentence != "" {
		where = path.Dir(c.file)
	}
	switch {
	case ts.literals[c.file] == nil:
		return "there is no test file " + c.file
	case c.function == "" && !isLaws(c.file), c.function != "" && !ts.functions[where][c.function]:
		return where + " has no test " + strconv.Quote(c.function)
	case c.sentence != "" && !ts.literals[c.file][c.sentence]:
		return c.file + " does not contain " + strconv.Quote(c.sentence)
	}
	return ""
}
