package config_test

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/gateway/config"
)

var update = flag.Bool("update", false, "write what is said anew")

const mistakesFile = "testdata/mistakes.txt"

// What does not belong into a file of tests, and how it is written there.
var (
	unescape = strings.NewReplacer(`\xff`, "\xff", `\x1b`, "\x1b")
	escape   = strings.NewReplacer("\xff", `\xff`, "\x1b", `\x1b`)
)

// A wrong is a file with a mistake, and what is to be said of it.
type wrong struct{ title, text, want string }

// wrongs reads testdata/mistakes.txt: "== title", the file, "--", what is said.
func wrongs(t *testing.T) (remark string, all []wrong) {
	t.Helper()
	content, err := os.ReadFile(mistakesFile)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(content), "\n== ")
	for _, s := range parts[1:] {
		title, rest, _ := strings.Cut(s, "\n")
		text, want, found := strings.Cut("\n"+rest, "\n--\n")
		if !found {
			text, found = strings.CutSuffix("\n"+rest, "\n--")
		}
		if !found {
			t.Fatalf("%s: there is no -- behind the file", title)
		}
		text = strings.TrimPrefix(text+"\n", "\n")
		all = append(all, wrong{title, unescape.Replace(text), want})
	}
	return parts[0], all
}

// said is all that is told of a file.
func said(text string) (string, config.Errors) {
	_, errs := config.Parse("interlock.yaml", []byte(text))
	var b strings.Builder
	for _, m := range errs {
		b.WriteString("[" + string(m.Code) + "] " + m.Show())
	}
	return b.String(), errs
}

// TestMistakes is P8's strictness: each mistake has its own message, with its place,
// the line and what to write instead.
func TestMistakes(t *testing.T) {
	remark, all := wrongs(t)
	texts := map[string]string{}
	for i, w := range all {
		got, errs := said(w.text)
		if len(errs) == 0 {
			t.Errorf("%s: nothing is said", w.title)
		}
		for _, m := range errs {
			if m.Hint == "" || m.Text == "" || m.Code == "" {
				t.Errorf("%s: %q has no hint or no code", w.title, m.Text)
			}
			if w.text != "" && !strings.HasPrefix(w.text, "#") && m.Excerpt == "" {
				t.Errorf("%s: %q shows no line", w.title, m.Text)
			}
			texts[m.Text] = w.title
		}
		if !slices.IsSortedFunc(errs, func(a, b *config.ParseError) int { return a.At.Line - b.At.Line }) {
			t.Errorf("%s: the mistakes are not in order", w.title)
		}
		if want := strings.TrimSuffix(w.want, "\n"); !*update && strings.TrimSuffix(got, "\n") != want {
			t.Errorf("%s:\n%swant\n%s", w.title, got, want)
		}
		all[i].want = got
	}
	if len(all) < 60 || len(texts) < 60 {
		t.Errorf("%d files with mistakes and %d messages, want 60 of each", len(all), len(texts))
	}
	if *update {
		rewrite(t, remark, all)
	}
}

func rewrite(t *testing.T, remark string, all []wrong) {
	b := strings.Builder{}
	b.WriteString(remark)
	for _, w := range all {
		b.WriteString("\n== " + w.title + "\n" + escape.Replace(w.text) + "--\n" + w.want)
	}
	if err := os.WriteFile(mistakesFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
