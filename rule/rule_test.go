package rule_test

import (
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/rule"
)

// good maps a line to its canonical form, or to "" if the line is invalid.
var good = map[string]string{
	"lock key=`a\\`,b wait=1s":   "lock key=`a\\`,b wait=1s",
	`lock key="a\" b",c wait=1s`: `lock key="a\" b",c wait=1s`,
	"lock":                       "lock",
	"lock wait=180s key=req.OrderNo name=pay": "lock name=pay key=req.OrderNo wait=3m",
	"lock wait=0":                          "lock wait=0",
	"lock wait=0s key=id":                  "lock key=id wait=0",
	"lock lease=90m":                       "lock lease=1h30m",
	"lock lease=24h":                       "lock lease=24h",
	"lock key=min(from, to),max(from, to)": "lock key=min(from, to),max(from, to)",
	"lock key=f(a, b, c),g[d]{e, f, g}":    "lock key=f(a, b, c),g[d]{e, f, g}",
	`lock key="a b",x["c d"] when=len(xs) > 0 // a remark`:                   "",
	`lock key="a b",x["c d"] when=(len(xs) > 0) // why`:                      `lock key="a b",x["c d"] when=(len(xs) > 0)`,
	"lock ctx=r.Context() on-timeout=call:s.busy":                            "lock ctx=r.Context() on-timeout=call:s.busy",
	`lock name="pay" message="come back later"`:                              `lock name=pay message="come back later"`,
	"lock message=`say \"no\"`":                                              `lock message="say \"no\""`,
	"lock message=操作繁忙":                                                      "lock message=操作繁忙",
	`lock message.zh=操作繁忙 message.en="come back later"`:                      `lock message.en="come back later" message.zh=操作繁忙`,
	"lock message.en=later message=操作繁忙":                                     "lock message=操作繁忙 message.en=later",
	"once key=auth.User(ctx),req.Token retain=5m on-duplicate=replay":        "once key=auth.User(ctx),req.Token retain=5m on-duplicate=replay",
	"once key=u,id scope=user+key":                                           "once key=u,id scope=user+key",
	"once key=id on-duplicate=wait wait=1500ms":                              "once key=id wait=1.5s on-duplicate=wait",
	"once key=id window=5s":                                                  "once key=id window=5s",
	"once key=id on-unknown=hold on-error=keep on-down=local local-cache=1s": "once key=id on-error=keep on-unknown=hold on-down=local local-cache=1s",
	"submit key=id": "submit key=id",
	"limit rate=3/day key=id zone=Asia/Shanghai name=o":         "limit name=o key=id rate=3/day zone=Asia/Shanghai",
	"limit key=id rate=5/600s on-limit=call:busy on-error=free": "limit key=id rate=5/10m on-limit=call:busy on-error=free",
	"submit key=id window=10s on-duplicate=skip status=423":     "submit key=id window=10s on-duplicate=skip status=423",
}

func TestPrinting(t *testing.T) {
	for line, want := range good {
		r, errs := rule.ParseLine(line)
		if want == "" {
			if len(errs) == 0 {
				t.Errorf("%s: parsed as %s, want an error", line, r)
			}
			continue
		}
		if errs.Err() != nil || r.String() != want {
			t.Errorf("%s: printed as %q, %v; want %q", line, r, errs, want)
		}
		if again, errs := rule.ParseLine(r.String()); errs.Err() != nil || again != r {
			t.Errorf("%s: parsed again as %+v, %v; want %+v", r, again, errs, r)
		}
		if err := r.Check(); err != nil {
			t.Errorf("%s: Check returned %v", r, err)
		}
	}
}

func TestSettingsOmitGoExpressions(t *testing.T) {
	r, errs := rule.ParseLine(`lock name=pay key=id when=ok ctx=c kind=fair wait=0 on-timeout=call:busy`)
	if errs.Err() != nil {
		t.Fatal(errs)
	}
	const want = "kind=fair wait=0 on-timeout=call"
	if got := r.Settings(); got != want {
		t.Errorf("Settings() = %q, want %q", got, want)
	}
	loaded, err := rule.Load("lock", "example.com/shop.(*Service).Pay", want)
	if err != nil {
		t.Fatal(err)
	}
	if loaded.Kind != rule.Fair || loaded.Wait != rule.Try || loaded.OnTimeout != rule.Call {
		t.Errorf("Load(%q) = %+v, want a fair lock with wait=0 and on-timeout=call", want, loaded)
	}
	if _, err := rule.Load("once", "x", "retain=5m"); err != nil {
		t.Errorf("settings without a key: %v", err)
	}
	if _, err := rule.Load("lock", "x", "wait=3sec"); err == nil {
		t.Error("settings with a mistake were loaded")
	}
	if _, err := rule.Load("lock", "x", "name=(a"); err == nil {
		t.Error("settings with an unclosed bracket were loaded")
	}
}

// Requirement T5: a refused person reads the message in their language.
func TestMessages(t *testing.T) {
	defaults := guard.Message{"en": "default", "zh": "默认"}
	for line, want := range map[string]guard.Message{
		"lock":                                nil,
		"lock message=a":                      {"en": "a", "zh": "a"},
		"lock message.zh=忙":                   {"en": "default", "zh": "忙"},
		"lock message.en=busy":                {"en": "busy", "zh": "默认"},
		"lock message=忙 message.en=busy":      {"en": "busy", "zh": "忙"},
		"lock message.zh=忙 message.en=busy":   {"en": "busy", "zh": "忙"},
		"lock wait=1s message=a message.zh=忙": {"en": "a", "zh": "忙"},
	} {
		r, errs := rule.ParseLine(line)
		if errs.Err() != nil {
			t.Fatal(errs)
		}
		if got := r.Messages(defaults); !maps.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("%s: got %v, want %v", line, got, want)
		}
	}
}

func TestPolicy(t *testing.T) {
	for line, want := range map[string]guard.Policy{
		"once name=o key=id":                            {Name: "o", Scope: guard.Global, After: guard.Keep},
		"once name=o key=id window=5s":                  {Name: "o", Scope: guard.Global, After: guard.Window, Window: 5 * time.Second},
		"once name=o key=u,id scope=user+key":           {Name: "o", Scope: guard.PerUser, After: guard.Keep},
		"once name=o key=id message=no status=425":      {Name: "o", Scope: guard.Global, After: guard.Keep, Message: guard.Message{"en": "no", "zh": "no"}, Status: 425},
		"once name=o key=id on-duplicate=wait wait=1s":  {Name: "o", Scope: guard.Global, After: guard.Keep, OnDuplicate: guard.Wait, Wait: time.Second},
		"once name=o key=id on-duplicate=skip":          {Name: "o", Scope: guard.Global, After: guard.Keep, OnDuplicate: guard.Refuse},
		"submit name=o key=id":                          {Name: "o", Scope: guard.Global, After: guard.Window, Window: 5 * time.Second, OnUnknown: guard.Rerun, OnDown: guard.Open},
		"submit name=o key=id window=9s on-down=closed": {Name: "o", Scope: guard.Global, After: guard.Window, Window: 9 * time.Second, OnUnknown: guard.Rerun, OnDown: guard.Closed},
		"submit name=o key=id after=free lease=5s":      {Name: "o", Scope: guard.Global, After: guard.Free, Lease: 5 * time.Second, OnUnknown: guard.Rerun, OnDown: guard.Open},
		"once name=o key=id on-unknown=hold retain=1h":  {Name: "o", Scope: guard.Global, After: guard.Keep, OnUnknown: guard.Hold, Retain: time.Hour},
		"once name=o key=id max-hold=1h local-cache=1s": {Name: "o", Scope: guard.Global, After: guard.Keep, MaxHold: time.Hour, LocalCache: time.Second},
		"once name=o key=id after=free on-error=keep":   {Name: "o", Scope: guard.Global, After: guard.Free, OnError: guard.Keep},
	} {
		r, errs := rule.ParseLine(line)
		if errs.Err() != nil {
			t.Errorf("%s: ParseLine returned %v", line, errs)
			continue
		}
		got := r.Policy()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", line, got, want)
		}
		if err := got.Check(); err != nil {
			t.Errorf("%s: Check of the policy returned %v", line, err)
		}
	}
}

// A guard accepts every policy of a valid rule. Otherwise a mistake would show only when
// the program runs.
func TestAValidRuleHasAValidPolicy(t *testing.T) {
	var choices = [][]string{
		{"once", "submit"},
		{"", "after=free", "after=window", "after=keep"},
		{"", "window=5s"}, {"", "retain=1m"},
		{"", "on-duplicate=refuse", "on-duplicate=replay", "on-duplicate=wait", "on-duplicate=skip"},
		{"", "wait=1s"}, {"", "on-error=keep", "on-error=free"}, {"", "on-unknown=hold"},
		{"", "lease=20m"}, {"", "max-hold=1h"},
	}
	lines := []string{""}
	for _, options := range choices {
		var longer []string
		for _, line := range lines {
			for _, o := range options {
				longer = append(longer, strings.TrimSpace(line+" "+o))
			}
		}
		lines = longer
	}
	accepted := 0
	for _, line := range lines {
		r, errs := rule.ParseLine(line + " name=x key=id")
		if errs.Err() != nil {
			continue
		}
		accepted++
		if err := r.Policy().Check(); err != nil {
			t.Errorf("%s is a valid rule, but its policy is not: %v", line, err)
		}
	}
	if accepted < 100 {
		t.Errorf("%d of %d lines are valid rules, want at least 100", accepted, len(lines))
	}
}

func TestCheckFindsMistakesInARuleMadeInCode(t *testing.T) {
	for name, c := range map[string]struct {
		rule rule.Rule
		want string
	}{
		"no verb":                                {rule.Rule{}, "unknown verb"},
		"an option of another verb":              {rule.Rule{Verb: rule.Lock, Window: time.Second}, "window is for once"},
		"a negative wait":                        {rule.Rule{Verb: rule.Lock, Wait: -5}, "negative"},
		"a key with a space":                     {rule.Rule{Verb: rule.Lock, Key: "a b"}, "has a space"},
		"a key with an unclosed bracket":         {rule.Rule{Verb: rule.Lock, Key: "f("}, "not closed"},
		"a key that is not UTF-8":                {rule.Rule{Verb: rule.Lock, Key: "\xff"}, "cannot be read"},
		"a fallback without on-timeout=call":     {rule.Rule{Verb: rule.Lock, OnTimeout: rule.Zero, Fallback: "f"}, "only called with"},
		"a message in Chinese that is not UTF-8": {rule.Rule{Verb: rule.Lock, MessageZH: "\xff"}, "message.zh="},
		"a message not in UTF-8":                 {rule.Rule{Verb: rule.Lock, Message: "\xff"}, "not UTF-8"},
		"an unreadable name":                     {rule.Rule{Verb: rule.Lock, Name: "a\x00"}, "cannot be read"},
		"a guard without a key":                  {rule.Rule{Verb: rule.Submit}, "needs a key"},
	} {
		if err := c.rule.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestLockers(t *testing.T) {
	client := interlock.New(nil)
	for line, kind := range map[string]interlock.Kind{
		"lock": interlock.KindExclusive, "lock kind=plain": interlock.KindExclusive, "lock kind=fair wait=0": interlock.KindFair,
		"lock kind=read": interlock.KindRead, "lock kind=write max-hold=1m": interlock.KindWrite, "lock lease=1m": interlock.KindExclusive,
	} {
		r, errs := rule.ParseLine(line)
		if errs.Err() != nil {
			t.Fatal(errs)
		}
		var got interlock.Kind
		trace := &interlock.Trace{Acquired: func(a interlock.Acquired) { got = a.Kind }}
		traced := client.With(append(r.LockOptions(), interlock.WithTrace(trace))...)
		_, hold, err := r.Kind.Locker(traced, "k:"+string(r.Kind)).Lock(t.Context())
		if err != nil || got != kind {
			t.Errorf("%s: got a lock of kind %v, %v; want %v", line, got, err, kind)
			continue
		}
		_ = hold.Unlock()
	}
}
