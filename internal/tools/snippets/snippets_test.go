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

func repository(t *testing.T, readme string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{"README.md": readme, "example_test.go": example} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestLook(t *testing.T) {
	for name, c := range map[string]struct {
		readme string
		want   []string
	}{
		"a block cut from an example is fine":     {"# Hi\n<!-- from: example_test.go#ExampleDo -->\n```go\n" + cutOut + "```\n", nil},
		"so is a whole file":                      {"<!-- from: example_test.go -->\n\n```go\n" + example + "```\n", nil},
		"so is a whole function":                  {"<!-- from: example_test.go##ExampleDo -->\n```go\n" + strings.TrimPrefix(example, "package p_test\n\n") + "```\n", nil},
		"so is code in another language":          {"```sh\nmake\n```\n", nil},
		"a block that says otherwise is not":      {"<!-- from: example_test.go#ExampleDo -->\n```go\nDo()\n```\n", []string{"README.md:2: differs from example_test.go#ExampleDo (make fmt)"}},
		"nor one from nowhere":                    {"```go\nDo()\n```\n", []string{"README.md:1: no <!-- from: FILE#Example --> before this block"}},
		"nor one with prose after its comment":    {"<!-- from: example_test.go#ExampleDo -->\nSo:\n```go\n" + cutOut + "```\n", []string{"README.md:3: no <!-- from: FILE#Example --> before this block"}},
		"nor one from a function that is not one": {"<!-- from: example_test.go#ExampleUndo -->\n```go\n```\n", []string{"README.md:2: no function ExampleUndo"}},
		"nor one from a file that is not there":   {"<!-- from: gone_test.go#ExampleDo -->\n```go\n```\n", []string{"README.md:2: gone_test.go: no such file"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, wrong, err := look(repository(t, c.readme), "README.md", false)
			if err != nil || !slices.Equal(wrong, c.want) {
				t.Errorf("look says %q, %v; want %q", wrong, err, c.want)
			}
		})
	}
}

func TestWrite(t *testing.T) {
	before, after := "before\n<!-- from: example_test.go#ExampleDo -->\n```go\n", "```\nafter\n"
	root := repository(t, before+"old\n"+after)
	if _, wrong, err := look(root, "README.md", true); err != nil || len(wrong) > 0 {
		t.Fatal(wrong, err)
	}
	got, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if want := before + cutOut + after; string(got) != want {
		t.Errorf("the page is now\n%s\nwant\n%s", got, want)
	}
}
