package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// generate returns the mutants that the syntax tree of a package suggests: one
// for each condition that can be negated, operator that can be swapped, statement
// that can be dropped and constant that can be changed. Some of them do not
// compile; a trial reports those.
func generate(root, dir string) ([]change, error) {
	names, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var all []change
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file := filepath.ToSlash(filepath.Join(dir, filepath.Base(name)))
		ms, err := generateFile(file, text)
		if err != nil {
			return nil, err
		}
		all = append(all, ms...)
	}
	return all, nil
}

// A change is a generated mutant. Its old text may occur several times in the file, so it
// has an offset.
type change struct {
	mutant
	at int // the byte offset of the old text
}

// A generator collects the mutants of one file.
type generator struct {
	file    string
	text    string
	files   *token.FileSet
	in      string         // the function that is being visited
	seen    map[string]int // the number of mutants by function and kind, for their names
	changes []change
}

func generateFile(file string, text []byte) ([]change, error) {
	g := &generator{file: file, text: string(text), files: token.NewFileSet(), seen: make(map[string]int)}
	tree, err := parser.ParseFile(g.files, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || f.Name.Name == "String" || f.Name.Name == "Error" {
			continue // texts are checked by examples and golden files
		}
		g.in = f.Name.Name
		ast.Inspect(f.Body, g.visit)
	}
	return g.changes, nil
}

// swapped maps each operator to the operator that replaces it.
var swapped = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD,
}

func (g *generator) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		g.replace("negate", n.Cond, "!("+g.source(n.Cond)+")")
	case *ast.BinaryExpr:
		if op, ok := swapped[n.Op]; ok {
			g.add("swap", n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), op.String())
		}
	case *ast.ExprStmt:
		if !g.locks(n.X) {
			g.replace("drop", n, "")
		}
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			g.replace("drop", n, "")
		}
	case *ast.IncDecStmt:
		g.replace("drop", n, "")
	case *ast.BasicLit:
		if i, err := strconv.Atoi(n.Value); n.Kind == token.INT && err == nil {
			g.replace("count", n, strconv.Itoa(i+1))
		}
	case *ast.Ident:
		if flipped := map[string]string{"true": "false", "false": "true"}[n.Name]; flipped != "" {
			g.replace("flip", n, flipped)
		}
	}
	return true
}

// locks reports whether a call locks or unlocks a mutex. Such calls are not dropped: any
// test would hang or race, so the mutant would not measure the tests.
func (g *generator) locks(x ast.Expr) bool {
	s := g.source(x)
	return strings.HasSuffix(s, "Lock()") || strings.HasSuffix(s, "Unlock()")
}

func (g *generator) source(n ast.Node) string {
	return g.text[g.files.Position(n.Pos()).Offset:g.files.Position(n.End()).Offset]
}

func (g *generator) replace(op string, n ast.Node, with string) { g.add(op, n.Pos(), n.End(), with) }

// add adds a mutant. Its name contains no line number, so it stays the same when other
// functions change.
func (g *generator) add(op string, from, to token.Pos, with string) {
	begin, end := g.files.Position(from), g.files.Position(to)
	id := g.in + "." + op
	g.seen[id]++
	g.changes = append(g.changes, change{mutant{
		name: fmt.Sprintf("%s/%s.%s.%d", strings.TrimSuffix(filepath.Base(g.file), ".go"), g.in, op, g.seen[id]),
		file: g.file, old: g.text[begin.Offset:end.Offset], new: with,
		why: fmt.Sprintf("%s:%d", g.file, begin.Line),
	}, begin.Offset})
}

// sample returns n of the mutants. It selects them by a hash of their names, so the same
// mutants always give the same sample.
func sample(ms []change, n int) []change {
	hash := func(m change) uint64 {
		h := fnv.New64a()
		_, _ = h.Write([]byte(m.file + m.name))
		return h.Sum64()
	}
	ms = slices.Clone(ms)
	slices.SortFunc(ms, func(a, b change) int { return cmp.Compare(hash(a), hash(b)) })
	return ms[:min(n, len(ms))]
}
