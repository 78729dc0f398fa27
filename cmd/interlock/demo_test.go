package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestDemo(t *testing.T) {
	t.Run("clicks are lost without a lock, and none with a lock", func(t *testing.T) {
		t.Parallel()
		r := start(t, nil, "demo", "--no-page")
		r.expect(t, 0,
			"1 · without a lock", "of 100 clicks: ", "✗ at once",
			"2 · with a lock, on the embedded engine", "✓ counter   100 of 100 clicks", "✓ held      100 of 100 requests",
			"✓ overlaps  0", "✓ fences    rise", "  waits     median", "  engine    granted", "verdict: one holder at a time",
			"3 · one order, submitted 100 times, on the embedded engine", "✗ check first   orders placed: ", "✓ with a guard  orders placed: 1",
			"✓ answered      100 of 100 submissions got that order", "  engine        claimed 1; 99 more were coalesced in process", "verdict: placed once")
		if !strings.Contains(r.stderr.String(), "--engine") || strings.Contains(r.stdout.String(), "--engine") {
			t.Errorf("the hint about --engine must be on stderr and not on stdout:\n%s\n%s", &r.stdout, &r.stderr)
		}
	})
	t.Run("charts have the width of the terminal", func(t *testing.T) {
		t.Parallel()
		for _, columns := range []string{"60", "80", "120"} {
			r := start(t, []string{"COLUMNS=" + columns}, "demo", "--no-page", "--n", "30")
			r.expect(t, 0)
			longest := 0
			for line := range strings.Lines(r.stdout.String()) {
				longest = max(longest, len([]rune(strings.TrimSuffix(line, "\n"))))
			}
			if fmt.Sprint(longest) != columns {
				t.Errorf("the longest line has %d columns, want %s:\n%s", longest, columns, &r.stdout)
			}
		}
	})
	t.Run("Chinese labels align", func(t *testing.T) {
		t.Parallel()
		start(t, []string{"LC_ALL=zh_CN.UTF-8"}, "demo", "--no-page", "--n", "10").expect(t, 0,
			"10 个 goroutine 同时点击", "\n✓ 计数器  点击", "\n✓ 持有    10", "\n✓ 重叠    0", "\n✓ 栅栏号  每次", "\n  等待    一半", "\n  引擎    授予",
			"结论：一次只有一个")
	})
	t.Run("a pipe gets no colors unless --color is set", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			args []string
			env  string
			want bool
		}{
			{nil, "", false},
			{[]string{"--color=always"}, "", true},
			{[]string{"--color=always"}, "NO_COLOR=1", true}, // the flag overrides the variable
			{[]string{"--color=never"}, "", false},
		} {
			r := start(t, []string{c.env}, append([]string{"demo", "--no-page", "--n=2"}, c.args...)...)
			r.expect(t, 0)
			if got := strings.Contains(r.stdout.String(), "\x1b["); got != c.want {
				t.Errorf("%q %s: colors %v, want %v", c.args, c.env, got, c.want)
			}
		}
	})
	t.Run("a failed write is an error", func(t *testing.T) {
		t.Parallel()
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip("/dev/full is not available:", err)
		}
		defer full.Close()
		cmd := exec.CommandContext(t.Context(), interlock, "demo", "--no-page", "--n=2")
		cmd.Stdout = full
		if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("the error is %v, want exit code 1", err)
		}
	})
}

func TestDemoEndsWithCtrlC(t *testing.T) {
	t.Parallel()
	r := start(t, nil, "demo", "--no-page", "--n=10000", "--hold=1m")
	await(t, "the demo starts", func() bool { return strings.Contains(r.stdout.String(), "10000 goroutines") })
	r.interrupt(t)
	r.expect(t, 130, "interrupted; all locks were released")
}
