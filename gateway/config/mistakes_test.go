package config_test

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/gateway/config"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const mistakesFile = "testdata/mistakes.txt"

// Bytes that are escaped in the golden file.
var (
	unescape = strings.NewReplacer(`\xff`, "\xff", `\x1b`, "\x1b")
	escape   = strings.NewReplacer("\xff", `\xff`, "\x1b", `\x1b`)
)

// A mistakeCase is a configuration file with a mistake, and the expected messages.
type mistakeCase struct{ title, text, want string }

// readMistakes reads testdata/mistakes.txt. Each case is "== title", the configuration
// file, "--", and the messages.
func readMistakes(t *testing.T) (header string, all []mistakeCase) {
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
			t.Fatalf("%s: the file does not end with --", title)
		}
		text = strings.TrimPrefix(text+"\n", "\n")
		all = append(all, mistakeCase{title, unescape.Replace(text), want})
	}
	return parts[0], all
}

// parseMessages parses a file, and returns the messages about it.
func parseMessages(text string) (string, config.Errors) {
	_, errs := config.Parse("interlock.yaml", []byte(text))
	var b strings.Builder
	for _, m := range errs {
		b.WriteString("[" + string(m.Code) + "] " + m.Show())
	}
	return b.String(), errs
}

// TestMistakes: each mistake in a configuration file has its own message, with the
// position, the line and what to write instead. Users write this file instead
// of changing business code (requirement P8), so the messages alone must be enough to write
// a correct file.
func TestMistakes(t *testing.T) {
	header, all := readMistakes(t)
	texts := map[string]string{}
	for i, w := range all {
		got, errs := parseMessages(w.text)
		if len(errs) == 0 {
			t.Errorf("%s: Parse reports no mistake", w.title)
		}
		for _, m := range errs {
			if m.Hint == "" || m.Text == "" || m.Code == "" {
				t.Errorf("%s: %q has no hint or no code", w.title, m.Text)
			}
			if w.text != "" && !strings.HasPrefix(w.text, "#") && m.Excerpt == "" {
				t.Errorf("%s: %q has no excerpt", w.title, m.Text)
			}
			texts[m.Text] = w.title
		}
		if !slices.IsSortedFunc(errs, func(a, b *config.ParseError) int { return a.At.Line - b.At.Line }) {
			t.Errorf("%s: the mistakes are not in order", w.title)
		}
		if want := strings.TrimSuffix(w.want, "\n"); !*update && strings.TrimSuffix(got, "\n") != want {
			t.Errorf("%s: the messages are\n%swant\n%s", w.title, got, want)
		}
		all[i].want = got
	}
	if len(all) < 60 || len(texts) < 60 {
		t.Errorf("%d files with mistakes and %d messages, want at least 60 of each", len(all), len(texts))
	}
	if *update {
		rewrite(t, header, all)
	}
}

// rewrite writes the golden file with the current messages.
func rewrite(t *testing.T, header string, all []mistakeCase) {
	b := strings.Builder{}
	b.WriteString(header)
	for _, w := range all {
		b.WriteString("\n== " + w.title + "\n" + escape.Replace(w.text) + "--\n" + w.want)
	}
	if err := os.WriteFile(mistakesFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
