package admin_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/engine/standby"
	"github.com/interlock-go/interlock/gateway/admin"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlocktest"
)

func TestHealth(t *testing.T) {
	t.Run("a healthy process answers health checks without a token", func(t *testing.T) {
		w := open(t, guarded)
		for path, want := range map[string]string{
			"/livez": "ok\n", "/readyz": "ok\n", "/healthz": "ok\n", "/readyz?verbose": "[+] engine\n[+] audit\nok\n",
		} {
			if r := w.with("Host", "10.0.0.9").get(path); r.status != 200 || string(r.text) != want {
				t.Errorf("%s: %d %q, want %q", path, r.status, r.text, want)
			}
		}
		if r := w.with("Accept", "application/json").get("/readyz"); !strings.Contains(string(r.text), `"status":"ok"`) {
			t.Errorf("the JSON is %s", r.text)
		}
		if strings.Contains(w.log.String(), "livez") {
			t.Error("a probe is in the log")
		}
		w.post("/livez", nil).problem(401, admin.Unauthenticated)
	})
	t.Run("a process that shuts down, or lacks a configuration or engine, is alive and not ready", func(t *testing.T) {
		why := errors.New("it is draining at 10.1.1.1")
		w := open(t, func(o *admin.Options) {
			o.Ready = func() error { return why }
			o.Rules = func() *config.Config { return nil }
		})
		r := w.get("/readyz?verbose")
		if r.status != 503 || string(r.text) != "[+] engine\n[-] config\n[-] serving\n[+] audit\nfailed\n" {
			t.Errorf("it is %d %s", r.status, r.text)
		}
		if r := w.get("/livez"); r.status != 200 {
			t.Errorf("alive is %d", r.status)
		}
		var h admin.Health
		if w.get("/api/v1/health").into(&h); h.Ready || h.Checks[2].Error != why.Error() {
			t.Errorf("health is %+v", h)
		}
	})
	t.Run("an engine that is down makes the process not ready", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			fixture := interlocktest.New(t)
			api := closed(t, func(o *admin.Options) { o.Engine, o.Client = fixture.Engine(), fixture.Client() })
			defer api.end()
			if h := ask[admin.Health](t, api.api, "/api/v1/health"); !h.Ready {
				t.Errorf("health is %+v", h)
			}
			fixture.Fail()
			time.Sleep(2 * time.Second)
			if h := ask[admin.Health](t, api.api, "/api/v1/health"); h.Ready || h.Checks[0].OK {
				t.Errorf("without an engine health is %+v", h)
			}
			answered(t, api.api, "GET", "/readyz", "", 503)
			p := answered(t, api.api, "GET", "/api/v1/locks", "", 503)
			if !strings.Contains(p, string(admin.Unavailable)) {
				t.Errorf("locks are %s", p)
			}
			answered(t, api.api, "POST", "/api/v1/locks/x/release", `{"reason":"x"}`, 503)
			answered(t, api.api, "GET", "/api/v1/claims", "", 503)
			fixture.Heal()
			time.Sleep(2 * time.Second)
			answered(t, api.api, "GET", "/readyz", "", 200)
		})
	})
	t.Run("health contains the doctor's report in both languages", func(t *testing.T) {
		w := open(t)
		var en, zh admin.Health
		w.get("/api/v1/health").into(&en)
		w.with("Accept-Language", "zh-CN,zh").get("/api/v1/health").into(&zh)
		if !en.Ready || en.Doctor["topology"] != "embedded" || en.Doctor["not_guaranteed"] == zh.Doctor["not_guaranteed"] {
			t.Errorf("health is %+v and %+v", en, zh)
		}
	})
}

func TestStats(t *testing.T) {
	w := open(t, func(o *admin.Options) {
		o.Guards = func() map[string]guard.Stats {
			return map[string]guard.Stats{"order": {Asked: 7, Verdicts: map[guard.Verdict]uint64{guard.Replayed: 3}}}
		}
	})
	w.lock(w.client.Mutex("a:1"))
	var s admin.Stats
	w.get("/api/v1/stats").into(&s)
	if s.Locks.Live != 1 || s.Locks.Acquired != 1 || s.Guards["order"].Asked != 7 || s.Guards["order"].Verdicts[string(guard.Replayed)] != 3 || s.Standby != nil {
		t.Errorf("the counters are %+v", s)
	}
}

func TestReload(t *testing.T) {
	mistake, calls := errors.New("interlock.yaml:3:5: there is no such field"), 0
	w := open(t, func(o *admin.Options) {
		o.Rules = func() *config.Config { return &config.Config{File: "interlock.yaml"} }
		o.Reload = func(context.Context) error { calls++; return mistake }
	})
	p := w.post("/api/v1/reload", why).problem(422, admin.Invalid)
	if !strings.Contains(p.Detail, mistake.Error()) {
		t.Errorf("the problem is %+v", p)
	}
	var rules admin.Rules
	if w.get("/api/v1/rules").into(&rules); rules.Reload == nil || rules.Reload.OK || rules.Reload.Error != mistake.Error() {
		t.Errorf("the rules do not contain the last error: %+v", rules)
	}
	mistake = nil
	var r admin.Reload
	if w.post("/api/v1/reload", why).into(&r); !r.OK || calls != 2 {
		t.Errorf("the reload is %+v after %d calls", r, calls)
	}
	w = open(t)
	w.post("/api/v1/reload", why).problem(409, admin.NotSupported)
	w.get("/api/v1/rules").problem(409, admin.NotSupported)
}

// T13: the API switches to a standby, and degrades to local locks.
func TestStandby(t *testing.T) {
	two := func(t *testing.T, primary, secondary *interlocktest.World) (*fixture, *standby.Engine) {
		e, err := standby.New(t.Context(), primary.Engine(), secondary.Engine())
		if err != nil {
			t.Fatal(err)
		}
		w := closed(t, func(o *admin.Options) { o.Engine, o.Client = e, interlock.New(e) })
		t.Cleanup(func() { _ = e.Close() })
		return w, e
	}
	t.Run("an operator switches and later degrades, and the audit log records both", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, e := two(t, interlocktest.New(t), interlocktest.New(t))
			defer w.end()
			if s := ask[admin.Switch](t, w.api, "/api/v1/standby"); s.Side != "primary" || len(s.Reached) != 2 {
				t.Errorf("it is %+v", s)
			}
			answered(t, w.api, "POST", "/api/v1/standby/switch", `{"to":"standby","reason":"maintenance"}`, 200)
			s := ask[admin.Switch](t, w.api, "/api/v1/standby")
			if s.Side != "standby" || s.By != "local" || s.FreezeMS <= 0 || s.Epoch != 1 || e.State().Side != standby.Standby {
				t.Errorf("it is %+v", s)
			}
			answered(t, w.api, "POST", "/api/v1/standby/degrade", `{"reason":"both are on fire"}`, 200)
			if e.State().Side != standby.Local {
				t.Errorf("it is %+v", e.State())
			}
			if st := ask[admin.Stats](t, w.api, "/api/v1/stats"); st.Standby == nil || st.Standby.Switches != 2 {
				t.Errorf("the counters are %+v", st.Standby)
			}
			audit := ask[admin.Audit](t, w.api, "/api/v1/audit")
			if len(audit.Entries) != 2 || audit.Entries[0].Action != "degrade" || audit.Entries[1].Action != "switch:standby" || audit.Entries[1].Before[0].State != "primary" {
				t.Errorf("the audit log is %+v", audit)
			}
		})
	})
	t.Run("a switched standby is not ready until it grants locks again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, e := two(t, interlocktest.New(t), interlocktest.New(t))
			defer w.end()
			if _, hold, err := interlock.New(e).Mutex("order").Lock(t.Context()); err != nil {
				t.Fatal(err)
			} else if err := hold.Unlock(); err != nil {
				t.Fatal(err)
			}
			answered(t, w.api, "GET", "/readyz", "", 200)
			answered(t, w.api, "POST", "/api/v1/standby/switch", `{"to":"standby","reason":"maintenance"}`, 200)
			time.Sleep(2 * time.Second)
			answered(t, w.api, "GET", "/readyz", "", 503)
			time.Sleep(time.Until(e.State().FrozenUntil) + 2*time.Second)
			answered(t, w.api, "GET", "/readyz", "", 200)
		})
	})
	t.Run("a side that cannot be reached is a conflict, unless the switch is forced", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			primary := interlocktest.New(t)
			w, e := two(t, primary, interlocktest.New(t))
			defer w.end()
			primary.Fail()
			time.Sleep(5 * time.Second)
			text := answered(t, w.api, "POST", "/api/v1/standby/switch", `{"to":"standby","reason":"x"}`, 409)
			if !strings.Contains(text, string(admin.Conflict)) || e.State().Side != standby.Primary {
				t.Errorf("it is %s", text)
			}
			answered(t, w.api, "POST", "/api/v1/standby/switch", `{"to":"standby","reason":"x","force":true}`, 200)
			if e.State().Side != standby.Standby {
				t.Errorf("it is %+v", e.State())
			}
		})
	})
	t.Run("an engine without a standby cannot be switched", func(t *testing.T) {
		w := open(t, func(o *admin.Options) { o.Engine = memory.New() })
		w.get("/api/v1/standby").problem(409, admin.NotSupported)
		w.post("/api/v1/standby/switch", map[string]any{"to": "standby", "reason": "x"}).problem(409, admin.NotSupported)
		w.post("/api/v1/standby/degrade", why).problem(409, admin.NotSupported)
		w.post("/api/v1/standby/switch", map[string]any{"to": "local", "reason": "x"}).problem(422, admin.Invalid)
		w.post("/api/v1/standby/switch", map[string]any{"to": "standby"}).problem(422, admin.Invalid)
	})
}
