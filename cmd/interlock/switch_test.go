package main_test

import (
	"errors"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/engine/standby"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// TestSwitch is the operator's switch from the command line (T13).
func TestSwitch(t *testing.T) {
	t.Run("all processes follow, and the status says so", func(t *testing.T) {
		t.Parallel()
		a, b := redistest.Start(t), redistest.Start(t)
		sides := []string{"switch", "--primary", a.URL(), "--standby", b.URL()}
		start(t, nil, append(sides, "--status")...).expect(t, 0, "nobody has used these two as one yet")
		e := process(t, a, b)
		start(t, nil, append(sides, "--status")...).expect(t, 0, "the primary counts (epoch 0)")

		start(t, []string{"USER=ann"}, append(sides, "--to", "standby")...).expect(t, 0,
			"switched to standby (epoch 1)", "told: primary", "told: standby", "nothing is granted until")
		await(t, "the process follows", func() bool { return e.State().Side == standby.Standby })
		await(t, "the process has seen both notes", func() bool { // it may know by one that the other has yet to be written
			_, err := e.Acquire(t.Context(), engine.Request{Key: "k", Holder: "a1100000-0000-4000-8000-00000000000a:1", Attempt: "1", Lease: time.Second})
			switching, ok := errors.AsType[*standby.SwitchingError](err)
			return ok && switching.Epoch == 1
		})
		start(t, nil, append(sides, "--status")...).expect(t, 0, "the standby counts (epoch 1)", "by ann@", "nothing is granted until")
		start(t, nil, append(sides, "--to=standby")...).expect(t, 0, "the standby counts already (epoch 1)")
		start(t, nil, append(sides, "--to=local", "--lang=zh")...).expect(t, 0, "已切换到 local（第 2 次）", "已降级")
	})
	t.Run("a side that is away is not passed over unless that is said", func(t *testing.T) {
		t.Parallel()
		a, b := redistest.Start(t), redistest.Start(t)
		process(t, a, b)
		a.Kill()
		sides := []string{"switch", "--primary", a.URL(), "--standby", b.URL()}
		start(t, nil, append(sides, "--status")...).expect(t, 0, "the primary cannot be reached")
		start(t, nil, append(sides, "--to=standby")...).expect(t, 5, "the primary cannot be told", "nothing was switched", "--force")
		start(t, nil, append(sides, "--to=standby", "--force")...).expect(t, 0, "switched to standby (epoch 1)", "told: standby", "not told: primary")
		b.Kill()
		start(t, nil, append(sides, "--to=primary")...).expect(t, 5, "cannot be reached")
	})
	t.Run("mistakes are said", func(t *testing.T) {
		t.Parallel()
		for want, args := range map[string][]string{
			"--primary is missing":         {"--standby=redis://b", "--status"},
			"--standby is missing":         {"--primary=redis://a", "--status"},
			"say --to a side, or --status": {"--primary=redis://a", "--standby=redis://b"},
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

// process is one that uses both.
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
