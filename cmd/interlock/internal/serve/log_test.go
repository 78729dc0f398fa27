package serve

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/cmd/interlock/internal/sanitize/sanitizetest"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/observe/logs"
)

func TestLog(t *testing.T) {
	t.Run("escape sequences from clients do not reach the terminal", func(t *testing.T) {
		var out strings.Builder
		log := slog.New(Handler(&out, false, true, logs.NewLevels(slog.LevelInfo))).With("by", "\x1b[2J")
		for _, evil := range sanitizetest.Hostile(100) {
			out.Reset()
			log.Warn("request", "path", evil)
			line, rest, _ := strings.Cut(out.String(), "\n")
			if err := sanitizetest.Tame(line); err != nil || rest != "" || !strings.Contains(line, "warn: request") {
				t.Fatalf("%q is not safe to print on a terminal: %v", out.String(), err)
			}
		}
	})
	t.Run("JSON logs contain successful requests only with verbose", func(t *testing.T) {
		for verbose, want := range map[bool]int{false: 1, true: 2} {
			var out strings.Builder
			o := Options{Levels: logs.NewLevels(slog.LevelInfo), Verbose: verbose}
			o.setLevels(config.Log{})
			log := slog.New(Handler(&out, true, true, o.Levels))
			log.Debug("request")
			log.Info("listening")
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			var record map[string]any
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &record); err != nil || len(lines) != want || record["msg"] != "listening" {
				t.Errorf("verbose %v: got %q, %v; want %d lines that end with listening", verbose, lines, err, want)
			}
		}
	})
	t.Run("verbose does not change components with a level of their own", func(t *testing.T) {
		o := Options{Levels: logs.NewLevels(slog.LevelInfo), Verbose: true}
		o.setLevels(config.Log{Level: slog.LevelWarn, Components: map[string]slog.Level{logs.Engine: slog.LevelError}})
		if got, want := o.Levels.String(), "default=DEBUG engine=ERROR gateway=DEBUG guards=DEBUG locks=DEBUG"; got != want {
			t.Errorf("the levels are %s, want %s", got, want)
		}
	})
	t.Run("the keys of locks are hashed, in errors as well", func(t *testing.T) {
		for _, terminal := range []bool{false, true} {
			var out strings.Builder
			log := slog.New(Handler(&out, !terminal, terminal, logs.NewLevels(slog.LevelDebug)))
			client := interlock.New(nil, logs.To(log))
			m := client.Mutex("pay:ann@example.com")
			_, hold, err := m.Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, _, _ = m.TryLock(t.Context())
			if err := hold.Unlock(); err != nil {
				t.Error(err)
			}
			logs.Component(log, logs.Locks).With("request", 7).Error("lock: engine failed", "key", "pay:ann@example.com", "err", errors.New(`acquire "pay:ann@example.com": down`))
			if err := client.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if text := out.String(); strings.Contains(text, "ann@example.com") || strings.Count(text, engine.ShortHolder("pay:ann@example.com")) < 5 || !strings.Contains(text, "down") {
				t.Errorf("the log has a key:\n%s", text)
			}
		}
	})
	t.Run("a terminal shows no component, because the message names it", func(t *testing.T) {
		var out strings.Builder
		logs.Component(slog.New(Handler(&out, false, true, logs.NewLevels(slog.LevelInfo))), logs.Locks).Info("lock: not acquired", "name", "pay")
		if !strings.HasSuffix(out.String(), "lock: not acquired  name=pay\n") {
			t.Errorf("the line is %q, want no component in it", out.String())
		}
	})
	t.Run("without a terminal the log is key=value", func(t *testing.T) {
		var out strings.Builder
		slog.New(Handler(&out, false, false, logs.NewLevels(slog.LevelInfo))).Info("stopped")
		if !strings.Contains(out.String(), "msg=stopped") {
			t.Errorf("the log is %q, want msg=stopped", out.String())
		}
	})
}
