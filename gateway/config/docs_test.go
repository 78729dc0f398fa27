package config_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/rule"
)

// TestDocs: the pages list the fields with the descriptions and defaults of the code.
func TestDocs(t *testing.T) {
	en, zh := sections(t, "../../docs/config.md"), sections(t, "../../docs/config.zh-CN.md")
	counts := map[string]int{}
	for _, r := range config.Rows() {
		def, mustZH := "", ""
		switch r.Default {
		case "":
		case "required":
			def, mustZH = "required", "必填"
		default:
			def = "`" + r.Default + "`"
			mustZH = def
		}
		counts[r.Section]++
		if row := fmt.Sprintf("| `%s` | %s | %s |", r.Name, r.About, def); !strings.Contains(en[r.Section], row+"\n") {
			t.Errorf("config.md lacks under %s:\n%s", r.Section, row)
		}
		row := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(r.Name) + "` \\| .*\\p{Han}.* \\| " + regexp.QuoteMeta(mustZH) + " \\|$")
		if !row.MatchString(zh[r.Section]) {
			t.Errorf("config.zh-CN.md lacks under %s: %s, with the default %s", r.Section, r.Name, mustZH)
		}
	}
	for section, n := range counts {
		for page, all := range map[string]map[string]string{"config.md": en, "config.zh-CN.md": zh} {
			if got := strings.Count(all[section], "\n| `"); got != n {
				t.Errorf("%s has %d fields under %s, want %d", page, got, section, n)
			}
		}
	}
}

// sections returns the parts of a page by their third-level headings.
func sections(t *testing.T, page string) map[string]string {
	t.Helper()
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(codes(), config.Presets()...) {
		if !strings.Contains(string(content), "`"+name+"`") {
			t.Errorf("%s does not name %s", page, name)
		}
	}
	examples(t, page, string(content))
	all := map[string]string{}
	for _, s := range strings.Split(string(content), "\n### ")[1:] {
		title, body, _ := strings.Cut(s, "\n")
		if inner, ok := strings.CutPrefix(title, "文件 ("); ok {
			title = strings.TrimSuffix(inner, ")")
		}
		body, _, _ = strings.Cut(body, "\n## ")
		all[title] = body
	}
	return all
}

func codes() (all []string) {
	for _, c := range config.Codes {
		all = append(all, string(c))
	}
	return all
}

// examples parses the files in a page.
func examples(t *testing.T, page, content string) {
	t.Helper()
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(content, -1)
	if len(blocks) < 2 {
		t.Errorf("%s has %d example files, want at least 2", page, len(blocks))
	}
	for _, b := range blocks {
		text := b[1]
		if !strings.Contains(text, "rules:") {
			text = "engine: memory\nto: http://a\nrules: []\n" + text
		}
		mustParse(t, text)
	}
}

// TestOptionsMatchRule: a file has the options of package rule, except those for Go code.
func TestOptionsMatchRule(t *testing.T) {
	want := []string{}
	for _, v := range []rule.Verb{rule.Lock, rule.Once, rule.Submit, rule.Limit} {
		want = append(want, v.Names()...)
	}
	slices.Sort(want)
	want = slices.DeleteFunc(slices.Compact(want), func(s string) bool {
		return slices.Contains([]string{"name", "key", "when", "ctx", "on-timeout", "on-limit", "message.en", "message.zh", // message is a field with fields
			"rate", "zone"}, s) // presets do not have them
	})
	got := config.Options()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("a rule in a file has the options %v, want %v", got, want)
	}
}

// TestDefaults: the described defaults are those of an empty file.
func TestDefaults(t *testing.T) {
	printed := string(mustParse(t, "engine: {standby: [redis://a, redis://b]}\nto: http://a\nprincipal: {jwt: {key-file: a}}\ntokens: {}\nadmin: {}\nrules:\n  - {match: POST /a, once: 'a:{token}'}\n").Print(false))
	for _, r := range config.Rows() {
		if r.Default == "" || r.Default == "required" || r.Default == "false" || r.Section == "rules" || r.Section == "the file" && r.Name == "engine" {
			continue
		}
		if !strings.Contains(printed, " "+r.Name+": "+r.Default+"\n") && !strings.Contains(printed, "\n"+r.Name+": "+r.Default+"\n") {
			t.Errorf("the default of %s in %s is described as %s, which is not in\n%s", r.Name, r.Section, r.Default, printed)
		}
	}
}
