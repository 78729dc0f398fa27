package guard_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/guard"
)

func TestPolicyDefaults(t *testing.T) {
	p := guard.Policy{Name: "order"}.WithDefaults()
	if p.Scope != guard.PerUser || p.After != guard.Keep || p.Retain != 24*time.Hour || p.Lease != 30*time.Second ||
		p.MaxHold != 15*time.Minute || p.OnDuplicate != guard.Replay || p.Wait != 3*time.Second || p.OnError != guard.Free ||
		p.OnUnknown != guard.Hold || p.OnDown != guard.Closed || p.LocalCache != 500*time.Millisecond || p.Status != 409 {
		t.Errorf("the defaults (P3, P4, P6, T10) are %+v", p)
	}
	if p := (guard.Policy{Name: "form", After: guard.Free}).WithDefaults(); p.OnDuplicate != guard.Refuse || p.Status != 429 {
		t.Errorf("the defaults with After free are %+v", p)
	}
}

// TestPresets checks the durations that P3 and S9 require.
func TestPresets(t *testing.T) {
	for _, c := range []struct {
		p             guard.Policy
		window, lease time.Duration
		onDown        guard.OnDown
		onUnknown     guard.OnUnknown
		scope         guard.Scope
	}{
		{guard.Click("x"), time.Second, 30 * time.Second, guard.Open, guard.Rerun, guard.PerUser},
		{guard.Form("x"), 5 * time.Second, 30 * time.Second, guard.Open, guard.Rerun, guard.PerUser},
		{guard.Payment("x"), 30 * time.Second, 30 * time.Second, guard.Closed, guard.Hold, guard.PerUser},
		{guard.Charge("x"), 0, 30 * time.Second, guard.Closed, guard.Hold, guard.PerUser},
		{guard.Export("x"), 300 * time.Second, 30 * time.Second, guard.Open, guard.Rerun, guard.PerUser},
		{guard.Short("x"), 0, 10 * time.Second, guard.Closed, guard.Hold, guard.PerUser},
		{guard.Long("x"), 0, 5 * time.Minute, guard.Closed, guard.Hold, guard.PerUser},
		{guard.Import("x"), 0, 30 * time.Second, guard.Open, guard.Hold, guard.Global},
	} {
		if err := c.p.Check(); err != nil {
			t.Error(err)
		}
		p := c.p.WithDefaults()
		if p.Window != c.window || p.Lease != c.lease || p.OnDown != c.onDown || p.OnUnknown != c.onUnknown || p.Scope != c.scope {
			t.Errorf("the preset is %+v, want %+v", p, c)
		}
		if (p.After == guard.Window) != (c.window > 0) {
			t.Errorf("the preset has After %q and a window of %v, want a window only with After window", p.After, c.window)
		}
	}
}

// TestBadPolicies checks that the error names every mistake.
func TestBadPolicies(t *testing.T) {
	for want, p := range map[string]guard.Policy{
		"Name has 0 bytes":                  {},
		"Name has 65 bytes":                 {Name: strings.Repeat("x", 65)},
		`Scope "team": choose one of`:       {Name: "x", Scope: "team"},
		`After "never": choose`:             {Name: "x", After: "never"},
		`OnDuplicate "queue": choose`:       {Name: "x", OnDuplicate: "queue"},
		`OnError "window": choose`:          {Name: "x", OnError: guard.Window},
		`OnUnknown "retry": choose`:         {Name: "x", OnUnknown: "retry"},
		`OnDown "ajar": choose`:             {Name: "x", OnDown: "ajar"},
		`"replay" needs After "keep"`:       {Name: "x", After: guard.Free, OnDuplicate: guard.Replay},
		`"keep" cannot be combined with`:    {Name: "x", After: guard.Window, Window: time.Second, OnError: guard.Keep},
		"Window 0s: must be":                {Name: "x", After: guard.Window},
		"Window -1s: must be":               {Name: "x", After: guard.Window, Window: -time.Second},
		`Window 1s needs After`:             {Name: "x", Window: time.Second},
		"Retain -1s: must be":               {Name: "x", Retain: -time.Second},
		"Retain 1ms: must be":               {Name: "x", Retain: time.Millisecond},
		"Retain 9600h0m0s: must be":         {Name: "x", Retain: 400 * 24 * time.Hour},
		"Lease -1ns: must be":               {Name: "x", Lease: -1},
		"Lease 1ms: must be":                {Name: "x", Lease: time.Millisecond},
		"MaxHold -1s: must be":              {Name: "x", MaxHold: -time.Second},
		"MaxHold 1s is shorter than one":    {Name: "x", MaxHold: time.Second},
		`Wait 1s needs OnDuplicate`:         {Name: "x", Wait: time.Second},
		"control characters":                {Name: "x\n"},
		`Name "\xff" has`:                   {Name: "\xff"},
		"Wait -1s: must be":                 {Name: "x", Wait: -time.Second},
		"LocalCache -1s: must be":           {Name: "x", LocalCache: -time.Second},
		"Status 200 is not an error status": {Name: "x", Status: 200},
	} {
		g, err := guard.New[int](interlock.New(nil), p)
		if g != nil || !errors.Is(err, guard.ErrPolicy) || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%+v) = %v, want an error with %q", p, err, want)
		}
	}
	err := guard.Policy{Lease: -1, Retain: -1}.Check()
	for _, want := range []string{"Name", "Lease", "Retain"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %q, want %s in it", err, want)
		}
	}
}

func TestBadOptions(t *testing.T) {
	resolve := guard.Policy{Name: "x", OnUnknown: guard.Resolve}
	for name, c := range map[string]struct {
		p   guard.Policy
		opt guard.Option
	}{
		"no codec":        {order, guard.WithCodec(nil)},
		"no size":         {order, guard.MaxResult(0)},
		"no waiters":      {order, guard.MaxWaiting(0, 1)},
		"no ring":         {order, guard.Encrypt(nil)},
		"short secret":    {order, guard.HashWith([]byte("short"))},
		"no resolver":     {resolve, guard.MaxResult(1)},
		"unused resolver": {order, guard.Resolver(func(context.Context, guard.Key) (int, bool, error) { return 0, false, nil })},
		"nil resolver":    {resolve, guard.Resolver[int](nil)},
		"other resolver":  {resolve, guard.Resolver(func(context.Context, guard.Key) (string, bool, error) { return "", false, nil })},
	} {
		if g, err := guard.New[int](interlock.New(nil), c.p, c.opt); err == nil || g != nil {
			t.Errorf("New with %s = nil, want an error", name)
		}
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("Must did not panic")
			}
		}()
		guard.Must(guard.New[int](interlock.New(nil), guard.Policy{}))
	}()
	guard.Must(guard.New[int](interlock.New(nil), order))
}

func TestBadSecrets(t *testing.T) {
	good := secret("good")
	for name, s := range map[string][]guard.Secret{
		"no name": {{Key: good.Key}}, "long name": {{Name: strings.Repeat("x", 65), Key: good.Key}},
		"short key": {{Name: "x", Key: []byte("short")}}, "no key": {{Name: "x"}}, "twice": {good, good},
	} {
		if _, err := guard.NewRing(s[0], s[1:]...); err == nil {
			t.Errorf("NewRing with %s = nil, want an error", name)
		}
	}
	long := []byte(strings.Repeat("x", 32))
	if _, err := guard.NewTokens(0, long); err == nil {
		t.Error("NewTokens accepts a life of zero")
	}
	if _, err := guard.NewTokens(time.Hour, long[:15]); err == nil {
		t.Error("NewTokens accepts a short secret")
	}
	if _, err := guard.NewTokens(time.Hour, long, nil); err == nil {
		t.Error("NewTokens accepts a short older secret")
	}
}

// forgetful is an engine without a ledger.
type forgetful struct{ engine.Engine }

func (f forgetful) Capabilities() engine.Capabilities { return engine.Capabilities{} }

func TestEngineWithoutLedger(t *testing.T) {
	_, err := guard.New[int](interlock.New(forgetful{memory.New()}), order)
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("New = %v, want ErrUnsupported", err)
	}
}

func TestMessageLanguages(t *testing.T) {
	m := guard.DefaultMessage()
	for tag, want := range map[string]string{"zh": m["zh"], "zh-CN": m["zh"], "ZH-hant-tw": m["zh"], "de": m["en"], "": m["en"]} {
		if got := m.In(tag); got != want {
			t.Errorf("In(%q) = %q, want %q", tag, got, want)
		}
	}
	if got := (guard.Message{"de": "nein"}).In("fr"); got != "nein" {
		t.Errorf("In(fr) = %q, want the only language", got)
	}
	if got := (guard.Message{}).In("fr"); got != "" {
		t.Errorf("In of an empty message = %q, want \"\"", got)
	}
}

// TestWeaknesses checks that a weak guard is reported when it is made, each weakness once.
func TestWeaknesses(t *testing.T) {
	var warned []string
	client := interlock.New(memory.New(), interlock.WithTrace(&interlock.Trace{Warned: func(e interlock.Warned) {
		warned = append(warned, e.Key+": "+e.Problem)
	}}))
	remote := interlock.New(enginetest.NewFaulty(memory.New()), interlock.WithTrace(&interlock.Trace{Warned: func(e interlock.Warned) {
		t.Errorf("a guard with the defaults has the weakness %q", e.Problem)
	}}))
	if _, err := guard.New[string](remote, order); err != nil {
		t.Fatal(err)
	}
	weak := guard.Policy{Name: "pay", OnUnknown: guard.Rerun, Retain: 10 * time.Minute}
	for range 2 {
		for _, p := range []guard.Policy{weak, guard.Form("form"), guard.Charge("charge")} {
			if _, err := guard.New[string](client, p); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []string{"pay: " + string(guard.WeakRerun), "pay: " + string(guard.WeakRetain), ": " + string(guard.WeakEngine)}
	if !slices.Equal(warned, want) {
		t.Errorf("the warnings are %q, want %q", warned, want)
	}
}
