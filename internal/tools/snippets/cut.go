package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// The comment that tells the test runner what an example prints.
var output = regexp.MustCompile(`(?ims)^[ \t]*// *(?:unordered )?output:.*\z`)

// cut returns the code that a comment names: FILE, FILE#Function for what is
// within its braces, or FILE##Function for all of it, with what is said above it.
func cut(root, from string) (string, error) {
	if from == "" {
		return "", errors.New("no <!-- from: FILE#Example --> before this block")
	}
	name, function, whole := from, "", true
	if file, f, ok := strings.Cut(from, "#"); ok {
		name, function, whole = file, f, false
	}
	src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		return "", fmt.Errorf("%s: no such file", name)
	}
	if whole {
		return string(src), nil
	}
	if function, ok := strings.CutPrefix(function, "#"); ok {
		return declaration(src, function)
	}
	return body(src, function)
}

// body returns what is between the braces of a function, one level to the left.
func body(src []byte, function string) (string, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, "", src, parser.ParseComments)
	if err != nil {
		return "", err
	}
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Name.Name != function {
			continue
		}
		text := string(src[files.Position(f.Body.Lbrace).Offset+1 : files.Position(f.Body.Rbrace).Offset])
		text = output.ReplaceAllString(text, "")
		text = strings.ReplaceAll(strings.Trim(text, "\n"), "\n\t", "\n")
		return strings.TrimSpace(text) + "\n", nil
	}
	return "", fmt.Errorf("no function %s", function)
}

// declaration returns a function or method, with the comment above it.
func declaration(src []byte, function string) (string, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, "", src, parser.ParseComments)
	if err != nil {
		return "", err
	}
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != function {
			continue
		}
		from := f.Pos()
		if f.Doc != nil {
			from = f.Doc.Pos()
		}
		return string(src[files.Position(from).Offset:files.Position(f.End()).Offset]) + "\n", nil
	}
	return "", fmt.Errorf("no function %s", function)
}
