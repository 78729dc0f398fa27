// Proofs checks that every requirement Interlock claims to meet is named by a
// test: in a comment or in the name of a subtest. It cannot tell whether the
// test is any good; it makes sure that the proof can be found.
package main

import (
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/interlock-go/interlock/internal/tools/repo"
)

// claimed are the requirements that this version meets. One that is met later
// is added with its test. T1, T13, T14 and T15 are met as far as they are not
// about locks on several Redis servers.
var claimed = strings.Fields("L1 L2 L3 L4 L5 L6 L7 L9 L10 R1 R2 S1 S2 S3 S4 S5 S8 S9 P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 T1 T2 T3 T4 T6 T8 T9 T10 T13 T14 T15")

func main() {
	repo.Run(func(root string, files []string) (string, []string, error) {
		named := make(map[string]bool)
		for _, name := range files {
			if !isTest(name) {
				continue
			}
			src, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				return "", nil, err
			}
			for _, id := range ids(src) {
				named[id] = true
			}
		}
		var wrong []string
		for _, id := range claimed {
			if !named[id] {
				wrong = append(wrong, id+": no test names it")
			}
		}
		return fmt.Sprintf("proofs: %d of %d requirements are named by a test", len(claimed)-len(wrong), len(claimed)), wrong, nil
	})
}

// isTest reports whether a file holds tests. The laws do, although they are a
// package that engines import.
func isTest(name string) bool {
	return strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "internal/tools/proofs/") ||
		path.Dir(name) == "engine/enginetest" && path.Ext(name) == ".go"
}

var id = regexp.MustCompile(`\b[LRSPT][1-9][0-9]?\b`)

// ids returns the requirements that a Go file names in comments and strings.
// Elsewhere T1 is a type parameter.
func ids(src []byte) []string {
	var found []string
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile("", files.Base(), len(src)), src, nil, scanner.ScanComments)
	for {
		_, tok, text := s.Scan()
		switch tok {
		case token.EOF:
			return found
		case token.COMMENT, token.STRING:
			found = append(found, id.FindAllString(text, -1)...)
		}
	}
}
