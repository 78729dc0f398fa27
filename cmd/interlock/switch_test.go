package main_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/engine/standby"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// Requirement T13: an operator switches from the command line.
func TestSwitch(t *testing.T) {
	t.Run("all processes follow a switch, and the status shows it", func(t *testing.T) {
		t.Parallel()
		a, b := redistest.Start(t), redistest.Start(t)
		sides := []string{"switch", "--primary", a.URL(), "--standby", b.URL()}
		start(t, nil, append(sides, "--status")...).expect(t, 0, "no process has used these two engines")
		e := process(t, a, b)
		start(t, nil, append(sides, "--status")...).expect(t, 0, "the primary is active (epoch 0)")

		start(t, []string{"USER=ann"}, append(sides, "--to", "standby")...).expect(t, 0,
			"switched to standby (epoch 1)", "recorded on: primary", "recorded on: standby", "nothing is granted until")
		await(t, "the process follows", func() bool { return e.State().Side == standby.Standby })
		await(t, "the process has seen both records", func() bool { // it may see the second one later
			_, err := e.Acquire(t.Context(), engine.Request{Key: "k", Holder: "a1100000-0000-4000-8000-00000000000a:1", Attempt: "1", Lease: time.Second})
			switching, ok := errors.AsType[*standby.SwitchingError](err)
			return ok && switching.Epoch == 1
		})
		start(t, nil, append(sides, "--status")...).expect(t, 0, "the standby is active (epoch 1)", "by ann@", "nothing is granted until")
		start(t, nil, append(sides, "--to=standby")...).expect(t, 0, "the standby is already active (epoch 1)")
		start(t, nil, append(sides, "--to=local", "--lang=zh")...).expect(t, 0, "已切换到 local（第 2 次）", "已降级")
	})
	t.Run("a switch with an unreachable side requires --force", func(t *testing.T) {
		t.Parallel()
		a, b := redistest.Start(t), redistest.Start(t)
		process(t, a, b)
		a.Kill()
		sides := []string{"switch", "--primary", a.URL(), "--standby", b.URL()}
		start(t, nil, append(sides, "--status")...).expect(t, 0, "the primary is unreachable")
		refused := start(t, nil, append(sides, "--to=standby")...)
		refused.expect(t, 5, "the primary is active (epoch 0)", "the switch cannot be recorded on the primary", "nothing was switched", "--force")
		if output := refused.stdout.String(); strings.Contains(output, "switched to") {
			t.Errorf("nothing was switched, but the output is %q", output)
		}
		start(t, nil, append(sides, "--to=standby", "--force")...).expect(t, 0, "switched to standby (epoch 1)", "recorded on: standby", "not recorded on: primary")
		b.Kill()
		start(t, nil, append(sides, "--to=primary")...).expect(t, 5, "unreachable")
	})
	t.Run("mistakes are reported", func(t *testing.T) {
		t.Parallel()
		for want, args := range map[string][]string{
			"--primary is missing":         {"--standby=redis://b", "--status"},
			"--standby is missing":         {"--primary=redis://a", "--status"},
			"set either --to or --status":  {"--primary=redis://a", "--standby=redis://b"},
			"primary, standby, local":      {"--primary=redis://a", "--standby=redis://b", "--to=left"},
			"--primary must be a URL":      {"--primary=a:1", "--standby=redis://b", "--status"},
			"see: interlock switch --help": {"--primary=redis://a", "--standby=redis://b", "--status", "--to=primary"},
			"查看用法：interlock switch --help": {"--lang=zh"},
		} {
			start(t, nil, append([]string{"switch"}, args...)...).expect(t, 2, want)
		}
		start(t, nil, "switch", "--help").expect(t, 0, "interlock switch [flags]", "--primary URL", "--to SIDE", "--force")
	})
}

// process returns a process's engine on both servers.
func process(t *testing.T, a, b *redistest.Server) *standby.Engine {
	t.Helper()
	var both []engine.Engine
	for _, s := range []*redistest.Server{a, b} {
		e, err := redisengine.Open(t.Context(), s.URL())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		both = append(both, e)
	}
	e, err := standby.New(t.Context(), both[0], both[1])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}
