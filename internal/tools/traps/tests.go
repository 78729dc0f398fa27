package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// tests is what the files with tests hold.
type tests struct {
	functions map[string]map[string]bool // by directory and by file
	texts     map[string]map[string]bool // string literals, by file
}

var testName = regexp.MustCompile(`^(?:Test|Fuzz|Example)`)

// read reads all tests among files.
func read(tree fs.FS, files []string) (tests, error) {
	ts := tests{make(map[string]map[string]bool), make(map[string]map[string]bool)}
	for _, name := range files {
		if !strings.HasSuffix(name, "_test.go") && !isLaws(name) {
			continue
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return ts, err
		}
		if err := ts.add(name, src); err != nil {
			return ts, err
		}
	}
	return ts, nil
}

// isLaws reports whether a file holds laws, which are run by the tests of every
// engine.
func isLaws(name string) bool {
	return path.Dir(name) == "engine/enginetest" && path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go")
}

func (ts tests) add(name string, src []byte) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ts.texts[name] = make(map[string]bool)
	for _, place := range []string{name, path.Dir(name)} {
		if ts.functions[place] == nil {
			ts.functions[place] = make(map[string]bool)
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
				ts.texts[name][text] = true
			}
		}
		return true
	})
	return nil
}

// missing returns what of a test is not there, or nothing. The function that runs
// a sentence may be in another file of its package.
func (ts tests) missing(t test) string {
	place := t.file
	if t.sentence != "" {
		place = path.Dir(t.file)
	}
	switch {
	case ts.texts[t.file] == nil:
		return "there is no file " + t.file
	case t.function == "" && !isLaws(t.file), t.function != "" && !ts.functions[place][t.function]:
		return place + " has no test " + strconv.Quote(t.function)
	case t.sentence != "" && !ts.texts[t.file][t.sentence]:
		return t.file + " does not say " + strconv.Quote(t.sentence)
	}
	return ""
}
