package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const example = `package p_test

func ExampleDo() {
	if err := Do(); err != nil {
		panic(err)
	}

	// Again.
	Do()
	// Output:
	// done
}
`

const cutOut = "if err := Do(); err != nil {\n\tpanic(err)\n}\n\n// Again.\nDo()\n"

// examples is a repository with one example and this README.
func examples(t *testing.T, readme string) tree {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{"README.md": readme, "example_test.go": example} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return tree{FS: os.DirFS(root), root: root, files: []string{"README.md", "example_test.go"}}
}

func TestSnippets(t *testing.T) {
	for name, c := range map[string]struct {
		readme string
		want   []string
	}{
		"a block cut from an example":        {"# Hi\n<!-- from: example_test.go#ExampleDo -->\n```go\n" + cutOut + "```\n", nil},
		"a whole file":                       {"<!-- from: example_test.go -->\n\n```go\n" + example + "```\n", nil},
		"a whole function":                   {"<!-- from: example_test.go##ExampleDo -->\n```go\n" + strings.TrimPrefix(example, "package p_test\n\n") + "```\n", nil},
		"code in another language":           {"```sh\nmake\n```\n", nil},
		"a block that differs":               {"<!-- from: example_test.go#ExampleDo -->\n```go\nDo()\n```\n", []string{"README.md:2: differs from example_test.go#ExampleDo (make fmt)"}},
		"a block without a source":           {"```go\nDo()\n```\n", []string{"README.md:1: no <!-- from: FILE#Example --> before this block"}},
		"prose between a block and its from": {"<!-- from: example_test.go#ExampleDo -->\nSo:\n```go\n" + cutOut + "```\n", []string{"README.md:3: no <!-- from: FILE#Example --> before this block"}},
		"a function that does not exist":     {"<!-- from: example_test.go#ExampleUndo -->\n```go\n```\n", []string{"README.md:2: no function ExampleUndo"}},
		"a file that does not exist":         {"<!-- from: gone_test.go#ExampleDo -->\n```go\n```\n", []string{"README.md:2: gone_test.go: no such file"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, wrong, err := snippets(examples(t, c.readme))
			if err != nil || !slices.Equal(wrong, c.want) {
				t.Errorf("errors are %q, %v; want %q", wrong, err, c.want)
			}
		})
	}
}

func TestFixSnippets(t *testing.T) {
	before, after := "before\n<!-- from: example_test.go#ExampleDo -->\n```go\n", "```\nafter\n"
	in := examples(t, before+"old\n"+after)
	in.fix = true
	if _, wrong, err := snippets(in); err != nil || len(wrong) > 0 {
		t.Fatalf("snippets with -fix: got %q, %v; want no errors", wrong, err)
	}
	got, err := in.read("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := before + cutOut + after; got != want {
		t.Errorf("the page is now\n%s\nwant\n%s", got, want)
	}
}
