package main_test

import (
	"strings"
	"testing"
)

func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		name string
		args string
		want []string
	}{
		{"an unknown flag", "demo --holld=3ms", []string{"unknown flag --holld", "did you mean --hold?", "interlock demo --help"}},
		{"one dash instead of two", "demo -hold=3ms", []string{"did you mean --hold?"}},
		{"an unknown command", "demmo", []string{`unknown command "demmo"`, "did you mean demo?"}},
		{"a synonym of a command", "lock list", []string{`unknown command "list"`, "did you mean ls?", "interlock lock --help"}},
		{"a synonym of a command that deletes", "key rm", []string{"did you mean expire?"}},
		{"help for an unknown command", "help demmo", []string{`unknown command "demmo"`, "did you mean demo?"}},
		{"a command that resembles none", "frobnicate", []string{`unknown command "frobnicate"`, "see: interlock --help"}},
		{"a flag with the name of a command", "--version", []string{"did you mean interlock version?"}},
		{"a flag without its value", "demo --n", []string{"--n needs a value"}},
		{"text instead of a number", "demo --n=many", []string{`--n: "many" is not a whole number`}},
		{"too many", "demo --n=10001", []string{`--n: "10001" is not between 1 and 10000`}},
		{"zero", "demo --n=0", []string{`--n: "0" is not between 1 and 10000`}},
		{"a duration without a unit", "demo --hold=3", []string{`--hold: "3" is not a duration such as 3ms`}},
		{"a negative duration", "demo --hold=-3s", []string{`--hold: "-3s" is not between 0 and 1m0s`}},
		{"an invalid key", "demo --key={", []string{"bad key", "malformed hash tag"}},
		{"an address without a scheme", "demo --engine=localhost:6379", []string{"--engine must be a URL such as redis://localhost:6379"}},
		{"a public address for the page", "demo --listen=0.0.0.0:7070", []string{`--listen: "0.0.0.0:7070" is not a loopback address`, "no authentication"}},
		{"an address without a host", "demo --listen=7070", []string{`--listen: "7070" is not an address such as 127.0.0.1:7070`}},
		{"a page for zero seconds", "demo --for=0s", []string{`--for: "0s" is not between 1ms and 24h0m0s`}},
		{"--no-page with --for", "demo --no-page --for=3s", []string{"--no-page and --for cannot be combined"}},
		{"an invalid --color", "demo --color=red", []string{`--color: "red" is not one of auto, always, never`}},
		{"an unknown language", "demo --lang=fr", []string{`--lang: "fr" is not one of en, zh`}},
		{"an extra argument", "version 2", []string{`unexpected argument "2"`}},
		{"a mistake in Chinese", "demo --lang=zh --n=0", []string{`--n："0" 不行，应为 1 到 10000 之间的值`, "查看用法：interlock demo --help"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, nil, strings.Fields(c.args)...)
			r.expect(t, 2, c.want...)
			if r.stdout.String() != "" {
				t.Errorf("stdout is not empty:\n%s", &r.stdout)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string
	}{
		{"", []string{"Usage:", "demo ", "help ", "version ", "130 interrupted"}},
		{"--help", []string{"Usage:", "demo "}},
		{"help", []string{"Usage:", "demo "}},
		{"help demo", []string{"interlock demo [flags]", "--hold TIME", "(default 3ms)", "--for TIME         stop the page after this time\n", "INTERLOCK_ENGINE_URL"}},
		{"demo -h", []string{"interlock demo [flags]"}},
		{"--lang=zh", []string{"用法：", "命令：", "看一百个 goroutine 轮流持有一把锁", "退出码"}},
		{"demo --help --lang zh", []string{"用法：", "（默认 3ms）"}},
		{"version", []string{"interlock ", "go1."}},
	} {
		t.Run("interlock "+c.args, func(t *testing.T) {
			t.Parallel()
			r := start(t, nil, strings.Fields(c.args)...)
			r.expect(t, 0, c.want...)
			if r.stderr.String() != "" {
				t.Errorf("stderr is not empty:\n%s", &r.stderr)
			}
		})
	}
}
