package i18n_test

import (
	"testing"

	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
)

func TestPick(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		env  map[string]string
		want i18n.Language
	}{
		{"the default is English", nil, nil, i18n.English},
		{"LANG selects Chinese", nil, map[string]string{"LANG": "zh_CN.UTF-8"}, i18n.Chinese},
		{"LC_ALL overrides LANG", nil, map[string]string{"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, i18n.English},
		{"LC_MESSAGES overrides LANG", nil, map[string]string{"LC_MESSAGES": "zh_TW", "LANG": "en_US"}, i18n.Chinese},
		{"the flag overrides the locale", []string{"demo", "--lang", "en"}, map[string]string{"LC_ALL": "zh_CN"}, i18n.English},
		{"the flag may have an equals sign", []string{"--lang=zh", "demo"}, nil, i18n.Chinese},
		{"a flag without a value is ignored", []string{"demo", "--lang"}, nil, i18n.English},
		{"an unknown language falls back to the locale", []string{"--lang=fr"}, map[string]string{"LANG": "zh_CN"}, i18n.Chinese},
		{"arguments after -- are not flags", []string{"--", "--lang=zh"}, nil, i18n.English},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := i18n.Pick(c.args, func(name string) string { return c.env[name] }); got != c.want {
				t.Errorf("picked %d, want %d", got, c.want)
			}
		})
	}
}

func TestPadAlignsChinese(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"waits", "waits   "},
		{"等待", "等待    "},
		{"栅栏号", "栅栏号  "},
		{"（，：）", "（，：）"},
		{"longer than that", "longer than that"},
	} {
		if got := i18n.Pad(c.text, 8); got != c.want {
			t.Errorf("Pad(%q, 8) = %q, want %q", c.text, got, c.want)
		}
	}
}
