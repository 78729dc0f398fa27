package lang_test

import (
	"testing"

	"github.com/interlock-go/interlock/cmd/interlock/internal/lang"
)

func TestPick(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		env  map[string]string
		want lang.Language
	}{
		{"nothing says which", nil, nil, lang.English},
		{"LANG speaks Chinese", nil, map[string]string{"LANG": "zh_CN.UTF-8"}, lang.Chinese},
		{"LC_ALL overrules LANG", nil, map[string]string{"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, lang.English},
		{"LC_MESSAGES overrules LANG", nil, map[string]string{"LC_MESSAGES": "zh_TW", "LANG": "en_US"}, lang.Chinese},
		{"the flag overrules all", []string{"demo", "--lang", "en"}, map[string]string{"LC_ALL": "zh_CN"}, lang.English},
		{"the flag in one word", []string{"--lang=zh", "demo"}, nil, lang.Chinese},
		{"a flag without a value", []string{"demo", "--lang"}, nil, lang.English},
		{"an unknown language is refused in that of the locale", []string{"--lang=fr"}, map[string]string{"LANG": "zh_CN"}, lang.Chinese},
		{"what stands behind -- is no flag", []string{"--", "--lang=zh"}, nil, lang.English},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := lang.Pick(c.args, func(name string) string { return c.env[name] }); got != c.want {
				t.Errorf("picked %d, want %d", got, c.want)
			}
		})
	}
}

func TestPadMakesChineseAlign(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"waits", "waits   "},
		{"等待", "等待    "},
		{"栅栏号", "栅栏号  "},
		{"（，：）", "（，：）"},
		{"longer than that", "longer than that"},
	} {
		if got := lang.Pad(c.text, 8); got != c.want {
			t.Errorf("Pad(%q, 8) = %q, want %q", c.text, got, c.want)
		}
	}
}
