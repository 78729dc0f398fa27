package interlockhttp

import (
	"strings"
	"testing"

	"github.com/interlock-go/interlock/guard"
)

func TestLanguages(t *testing.T) {
	ours := []string{"en", "zh"}
	for _, c := range []struct {
		accept  string
		offered []string
		want    string
	}{
		{"", ours, "en"},
		{"zh", ours, "zh"},
		{"ZH-cn", ours, "zh"},
		{"zh-CN,zh;q=0.9,en;q=0.8", ours, "zh"},
		{"zh-Hant", ours, "zh"},
		{"zh-Hant-TW, en;q=0.9", ours, "zh"},
		{"zh-TW, en;q=0.9, zh;q=0.8", ours, "zh"}, // RFC 4647 3.4: zh-TW is looked up first
		{"en-US,en;q=0.9,zh;q=0.8", ours, "en"},
		{"en;q=0.5, zh;q=0.6", ours, "zh"},
		{"zh;q=0.5, en;q=0.5", ours, "zh"}, // the first of equals
		{"fr", ours, "en"},
		{"fr, zh;q=0.1", ours, "zh"},
		{"fr;q=1.0, *;q=0.5", ours, "en"},
		{"*", ours, "en"},
		{"*;q=0.1, zh", ours, "zh"},
		{"*, zh;q=0.1", ours, "en"},
		{"en;q=0, *", ours, "zh"},
		{"zh;q=0", ours, "en"},
		{"en-GB;q=0, en", ours, "en"},
		{"zhx", ours, "en"},
		{"z", ours, "en"},
		{"zh;q=nan, en;q=0.1", ours, "en"},
		{"zh;q=2", ours, "en"},
		{"zh;q=-1", ours, "en"},
		{"zh;q", ours, "en"},
		{"zh ; Q=0.1 , en ;q=0.2", ours, "en"},
		{",,;;,zh,", ours, "zh"},
		{"ja", []string{"en", "ja", "zh"}, "ja"},
		{"ja", []string{"en", "ja-JP"}, "ja-JP"},
		{"zh-Hant-HK", []string{"en", "zh", "zh-hant"}, "zh-hant"},
		{"zh", []string{"en", "zh-hant", "zh"}, "zh"},
		{"zh-hant", []string{"zh", "zh-hant-tw"}, "zh-hant-tw"},
		{"en", []string{"zh"}, "zh"},
		{"en", []string{""}, ""},
	} {
		if got := bestLanguage([]string{c.accept}, c.offered); got != c.want {
			t.Errorf("Accept-Language %q with %q on offer gets %q, want %q", c.accept, c.offered, got, c.want)
		}
	}
	if got := bestLanguage([]string{"fr", "en;q=0.1", "zh"}, ours); got != "zh" {
		t.Errorf("three Accept-Language fields get %q, want zh", got)
	}
}

func TestLocalize(t *testing.T) {
	for name, c := range map[string]struct {
		problem  Problem
		accept   string
		language string
		text     problemText
	}{
		"without a message the default text is used": {Problem{Code: Locked}, "zh-CN", "zh", zh[Locked]},
		"a message replaces the detail": {
			Problem{Code: Duplicate, Message: guard.Message{"en": "slow down", "zh": "慢一点"}}, "zh-CN", "zh", problemText{zh[Duplicate].title, "慢一点"}},
		"without a preference a message is in English": {
			Problem{Code: Duplicate, Message: guard.Message{"ar": "ببطء", "en": "slow down", "de": "langsam"}}, "", "en", problemText{en[Duplicate].title, "slow down"}},
		"a message may be in another language, with an English title": {
			Problem{Code: Duplicate, Message: guard.Message{"en": "slow down", "ja": "ゆっくり"}}, "ja-JP,en;q=0.5", "ja", problemText{en[Duplicate].title, "ゆっくり"}},
		"the title is in the language of the message": {
			Problem{Code: Duplicate, Message: guard.Message{"zh-CN": "慢一点"}}, "en", "zh-CN", problemText{zh[Duplicate].title, "慢一点"}},
		"the title is Chinese for any Chinese": {
			Problem{Code: Duplicate, Message: guard.Message{"en": "slow down", "ZH-Hant": "慢一點"}}, "zh-TW, zh-hant", "ZH-Hant", problemText{zh[Duplicate].title, "慢一點"}},
		"an empty message is ignored": {
			Problem{Code: Locked, Message: guard.Message{"zh": ""}}, "zh", "zh", zh[Locked]},
		"a language in which the message is empty is not offered": {
			Problem{Code: Locked, Message: guard.Message{"zh": "", "en": "wait"}}, "zh", "en", problemText{en[Locked].title, "wait"}},
		"a problem code that the service defines gets the text of the HTTP status": {
			Problem{Code: "quota", Status: 429}, "zh", "zh", problemText{"Too Many Requests", "Too Many Requests"}},
		"with an unknown HTTP status, the problem code is the text": {
			Problem{Code: "quota", Status: 599}, "", "en", problemText{"quota", "quota"}},
	} {
		t.Run(name, func(t *testing.T) {
			language, text := c.problem.localize([]string{c.accept})
			if language != c.language || text != c.text {
				t.Errorf("localize() = %s, %q; want %s, %q", language, text, c.language, c.text)
			}
		})
	}
}

func TestTheDefaultLanguageIsStable(t *testing.T) {
	p := &Problem{Code: Locked, Message: guard.Message{"ja": "a", "de": "b", "fr": "c", "zh": "d"}}
	for range 50 { // a map has no order
		if language, _ := p.localize(nil); language != "de" {
			t.Fatalf("the default language is %s, want de each time", language)
		}
	}
}

func TestParseAccept(t *testing.T) {
	t.Run("a comma or semicolon in quotes is part of a parameter", func(t *testing.T) {
		got := parseAccept([]string{`text/plain;x="a,b;q=0.9\",";q=0.5, text/html`})
		if len(got) != 2 || got[0] != (acceptRange{"text/plain", 0.5}) || got[1] != (acceptRange{"text/html", 1}) {
			t.Errorf("parseAccept() = %v, want text/plain with 0.5 and text/html with 1", got)
		}
	})
	t.Run("an open quote extends to the end of the header", func(t *testing.T) {
		if got := parseAccept([]string{`text/plain;x="a, text/html`}); len(got) != 1 || got[0] != (acceptRange{"text/plain", 1}) {
			t.Errorf("parseAccept() = %v, want text/plain only", got)
		}
	})
	t.Run("an empty element is skipped", func(t *testing.T) {
		if got := parseAccept([]string{",, ,;q=0.5,zh,", ""}); len(got) != 1 || got[0] != (acceptRange{"zh", 1}) {
			t.Errorf("parseAccept() = %v, want zh only", got)
		}
	})
	t.Run("only the beginning of a long header is read", func(t *testing.T) {
		got := parseAccept([]string{"zh;q=0.5," + strings.Repeat("x", maxAccept), "en"})
		if len(got) != 1 || got[0] != (acceptRange{"zh", 0.5}) {
			t.Errorf("parseAccept() = %v, want zh with 0.5 only", got)
		}
		if got := parseAccept([]string{strings.Repeat("x", maxAccept+1)}); got != nil {
			t.Errorf("parseAccept() = %v, want nothing", got)
		}
		if got := parseAccept([]string{strings.Repeat("zh,", 1<<20)}); len(got) != maxAccept/3 {
			t.Errorf("parseAccept() returned %d elements, want %d", len(got), maxAccept/3)
		}
	})
}

func TestTags(t *testing.T) {
	for tag, want := range map[string]bool{
		"en": true, "zh-Hant-TW": true, "x-1": true, "": false, "en\r\nX: y": false, "中文": false, "en, zh": false, strings.Repeat("x", 36): false,
	} {
		if got := isTag(tag); got != want {
			t.Errorf("isTag(%q) = %v, want %v", tag, got, want)
		}
	}
}
