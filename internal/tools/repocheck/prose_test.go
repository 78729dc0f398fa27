package main

import (
	"strings"
	"testing"
	"testing/fstest"
)

const budgetOfOne = "1 who-what\n1 somebody\n1 is-none\n1 he\n1 not-shape\n"

func proseOf(t *testing.T, name, text string) (summary string, wrong []string) {
	t.Helper()
	in := tree{FS: fstest.MapFS{name: {Data: []byte(text)}, budgetPage: {Data: []byte(budgetOfOne)}}, files: []string{name, budgetPage}}
	summary, wrong, err := prose(in)
	if err != nil {
		t.Fatal(err)
	}
	return summary, wrong
}

func TestProse(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"a comment":                    {"a.go", "package a\n\n// Who asks\n// waits.\n", "who-what 1"},
		"a second sentence":            {"a.go", "package a\n\n// F waits. What it\n// gets is nothing.\n", "who-what 1"},
		"a sentence over two lines":    {"a.go", "package a\n\n// F returns\n// What.\n", "who-what 0"},
		"a comment after code":         {"a.go", "package a\n\nvar x int // what is left\n", "who-what 1"},
		"code in a comment":            {"a.go", "package a\n\n// F:\n//\n//\tnobody := 1\n", "somebody 0"},
		"a directive":                  {"a.go", "package a\n\n//nolint:nobody\n", "somebody 0"},
		"a test name":                  {"a_test.go", "package a\n\nvar _ = f(\"who settles late\")\n", "who-what 1"},
		"two words":                    {"a_test.go", "package a\n\nvar _ = f(\"user nobody\")\n", "somebody 0"},
		"an identifier":                {"a.go", "package a\n\nvar nobody, he int\n", "somebody 0"},
		"a Lua comment":                {"a.lua", "local nobody = 1 -- nobody\n-- he is none of ours\n", "is-none 1"},
		"a Lua variable":               {"a.lua", "local nobody = 1\n", "somebody 0"},
		"a heading":                    {"a.md", "text\n## What it costs\ntext\n", "who-what 1"},
		"a heading that asks":          {"a.md", "## What does it cost?\n", "who-what 0"},
		"a table cell":                 {"a.md", "| a | Who waits | his |\n", "who-what 1"},
		"a list item":                  {"a.md", "text\n- Who waits\n- waits\n", "who-what 1"},
		"an emphasised word":           {"a.md", "**Whoever** waits\n", "who-what 1"},
		"code in a page":               {"a.md", "`nobody`\n```sh\nsu nobody\n```\n", "somebody 0"},
		"a clause in the middle":       {"a.md", "The caller who waits knows what it wants.\n", "who-what 0"},
		"a page in Chinese":            {"a.zh-CN.md", "Who nobody he\n", "somebody 0"},
		"somebody's":                   {"a.md", "Somebody's key is anybody's.\n", "somebody 2"},
		"a word that only contains he": {"a.md", "The history of this chip.\n", "he 0"},
		"test data":                    {"testdata/a.md", "nobody\n", "somebody 0"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := proseOf(t, c.file, c.text); !strings.Contains(", "+got, ", "+c.want+" of") {
				t.Errorf("%q: counted %s, want %s", c.text, got, c.want)
			}
		})
	}
}

func TestProseBudget(t *testing.T) {
	if _, wrong := proseOf(t, "a.md", "He waits.\n"); len(wrong) != 0 {
		t.Errorf("one place with a budget of one: got %q, want no error", wrong)
	}
	if _, wrong := proseOf(t, "a.md", "He waits for him.\n"); len(wrong) != 1 || !strings.HasPrefix(wrong[0], "he: 2 places") {
		t.Errorf("two places with a budget of one: got %q, want an error that counts 2", wrong)
	}
}
