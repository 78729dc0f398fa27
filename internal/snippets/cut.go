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

// cut returns the code that a comment names: FILE or FILE#Function.
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
