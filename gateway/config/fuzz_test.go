package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/gateway/config"
)

// FuzzParse: a file has mistakes, or it is a configuration. Each mistake has a position in
// the file and a hint. A configuration that is printed and parsed again is the same.
// Formatting is idempotent.
func FuzzParse(f *testing.F) {
	for _, text := range validFiles {
		f.Add(text)
	}
	content, err := os.ReadFile(mistakesFile)
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range strings.Split(string(content), "\n== ")[1:] {
		_, rest, _ := strings.Cut(s, "\n")
		text, _, _ := strings.Cut("\n"+rest, "\n--\n")
		f.Add(strings.TrimPrefix(text, "\n"))
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, errs := config.Parse("x", []byte(text))
		lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
		for _, m := range errs {
			if m.At.Line < 1 || m.At.Line > len(lines) || m.At.Col < 1 || m.At.Col > len(lines[m.At.Line-1])+32 || m.Hint == "" {
				t.Fatalf("a mistake in %q, which has %d lines, is at %v, or has no hint: %s", text, len(lines), m.At, m.Show())
			}
			if strings.ContainsAny(m.Show(), "\x1b\a\b\r") {
				t.Fatalf("%q: the message %q contains control characters", text, m.Show())
			}
		}
		if once, errs := config.Format("x", []byte(text)); len(errs) == 0 {
			if twice, errs := config.Format("x", once); len(errs) > 0 || string(once) != string(twice) {
				t.Fatalf("%q is formatted as %q and then as %q, %v", text, once, twice, errs)
			}
		}
		if (c == nil) != (len(errs) > 0) {
			t.Fatalf("Parse(%q) = %v, %v; want either a configuration or mistakes", text, c, errs)
		}
		if c == nil {
			return
		}
		printed := string(c.Print(false))
		again, errs := config.Parse("x", []byte(printed))
		if len(errs) > 0 {
			t.Fatalf("%q is printed as\n%s\nwhich Parse refuses with\n%v", text, printed, errs)
		}
		if reprinted := string(again.Print(false)); withoutComments(printed) != withoutComments(reprinted) {
			t.Fatalf("%q is printed as\n%s\nand then as\n%s", text, printed, reprinted)
		}
		checkEqual(t, c, again)
	})
}
