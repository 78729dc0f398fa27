package admin_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/gateway/admin"
	"github.com/interlock-go/interlock/observe/logs"
)

func TestLogLevels(t *testing.T) {
	const path = "/api/v1/log-levels"
	levels := logs.NewLevels(slog.LevelInfo)
	w := open(t, withTokens, func(o *admin.Options) { o.Levels = levels })
	ops, view := w.as(operator), w.as(viewer)
	debug := map[string]any{"reason": "looking for a lost lock", "levels": map[string]string{"locks": "debug", "engine": "error"}}

	t.Run("an operator changes levels, others only see them", func(t *testing.T) {
		var got admin.LogLevels
		if view.get(path).into(&got); got != (admin.LogLevels{Default: "info", Engine: "info", Gateway: "info", Guards: "info", Locks: "info"}) {
			t.Errorf("the levels are %+v, want all info", got)
		}
		view.call("PUT", path, debug).problem(403, admin.Forbidden)
		w.call("PUT", path, debug).problem(401, admin.Unauthenticated)
		ops.with("Sec-Fetch-Site", "cross-site").call("PUT", path, debug).problem(403, admin.CrossOrigin)
		if s := levels.String(); strings.Contains(s, "DEBUG") {
			t.Errorf("a refused request changed the levels to %s", s)
		}
		want := admin.LogLevels{Default: "info", Engine: "error", Gateway: "info", Guards: "info", Locks: "debug"}
		if ops.call("PUT", path, debug).into(&got); got != want {
			t.Errorf("the levels are %+v, want %+v", got, want)
		}
		if s := levels.String(); s != "default=INFO engine=ERROR gateway=INFO guards=INFO locks=DEBUG" {
			t.Errorf("the levels are %s, want those of the request", s)
		}
	})
	t.Run("a change is in the audit log, with the levels before", func(t *testing.T) {
		var audit admin.Audit
		view.get("/api/v1/audit?limit=1").into(&audit)
		e := audit.Entries[0]
		if e.Action != "log-levels:engine=error,locks=debug" || e.Reason != "looking for a lost lock" || e.Result != "ok" ||
			e.Before[0].State != "default=info engine=info gateway=info guards=info locks=info" {
			t.Errorf("the entry is %+v, want the change, its reason, the result ok and the levels before", e)
		}
	})
	t.Run("the log line of a change has no empty attributes and no Go syntax", func(t *testing.T) {
		var out strings.Builder
		texts := open(t, withTokens, func(o *admin.Options) {
			o.Levels, o.Log = logs.NewLevels(slog.LevelInfo), slog.New(slog.NewTextHandler(&out, nil))
		})
		texts.as(operator).call("PUT", path, debug).into(new(admin.LogLevels))
		for _, text := range []string{`key=`, `code=`, `Owner`, `{`} {
			if strings.Contains(out.String(), text) {
				t.Errorf("the line contains %q:\n%s", text, &out)
			}
		}
		if want := `before="[default=info engine=info gateway=info guards=info locks=info]"`; !strings.Contains(out.String(), want) {
			t.Errorf("the line has no %s:\n%s", want, &out)
		}
	})
	t.Run("bad requests change nothing", func(t *testing.T) {
		before := levels.String()
		for _, body := range []any{
			map[string]any{"reason": "x"},
			map[string]any{"reason": "x", "levels": map[string]string{}},
			map[string]any{"reason": "x", "levels": map[string]string{"locks": "trace"}},
			map[string]any{"reason": "x", "levels": map[string]string{"locks": "INFO+2"}},
			map[string]any{"reason": "x", "levels": map[string]string{"payments": "debug"}},
			map[string]any{"reason": "x", "levels": map[string]string{"guards": "debug", "locks": ""}},
			map[string]any{"levels": map[string]string{"locks": "info"}},
			map[string]any{"reason": "x", "levels": "debug"},
		} {
			ops.call("PUT", path, body).problem(422, admin.Invalid)
		}
		ops.call("POST", path, debug).problem(405, admin.MethodNotAllowed)
		if s := levels.String(); s != before {
			t.Errorf("the levels are %s, want them as before, %s", s, before)
		}
	})
	t.Run("levels between those with a name are rounded down", func(t *testing.T) {
		_ = levels.SetAll(slog.LevelInfo+2, map[string]slog.Level{"locks": slog.LevelDebug - 4, "engine": slog.LevelError + 4, "gateway": slog.LevelWarn})
		var got admin.LogLevels
		want := admin.LogLevels{Default: "info", Engine: "error", Gateway: "warn", Guards: "info", Locks: "debug"}
		if view.get(path).into(&got); got != want {
			t.Errorf("the levels are %+v, want %+v", got, want)
		}
	})
	t.Run("a process with fixed levels says so", func(t *testing.T) {
		fixed := open(t)
		fixed.get(path).problem(409, admin.NotSupported)
		fixed.call("PUT", path, debug).problem(409, admin.NotSupported)
	})
}
