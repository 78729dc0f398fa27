package main

import (
	"fmt"
	"go/scanner"
	"go/token"
	"regexp"
	"strings"
)

// claimed lists the requirements that this version meets.
var claimed = strings.Fields("L1 L2 L3 L4 L5 L6 L7 L9 L10 R1 R2 S1 S2 S3 S4 S5 S8 S9 P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 T1 T2 T3 T4 T6 T8 T9 T10 T13 T14 T15")

// requirements checks that a test names every requirement that Interlock meets, in
// a comment or in the name of a subtest.
func requirements(t tree) (summary string, wrong []string, err error) {
	named := make(map[string]bool)
	for _, name := range t.files {
		if !isTest(name) {
			continue
		}
		src, err := t.read(name)
		if err != nil {
			return "", nil, err
		}
		for _, id := range idsIn(src) {
			named[id] = true
		}
	}
	for _, id := range claimed {
		if !named[id] {
			wrong = append(wrong, id+": no test names it")
		}
	}
	return fmt.Sprintf("a test names %d of %d", len(claimed)-len(wrong), len(claimed)), wrong, nil
}

// isTest reports whether a file holds tests of the product.
func isTest(name string) bool {
	return isLaws(name) || strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "internal/tools/")
}

var requirementID = regexp.MustCompile(`\b[LRSPT][1-9][0-9]?\b`)

// idsIn returns the requirements that a Go file names in comments and strings.
// Elsewhere T1 is a type parameter.
func idsIn(src string) (found []string) {
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile("", files.Base(), len(src)), []byte(src), nil, scanner.ScanComments)
	for {
		switch _, tok, text := s.Scan(); tok {
		case token.EOF:
			return found
		case token.COMMENT, token.STRING:
			found = append(found, requirementID.FindAllString(text, -1)...)
		}
	}
}
