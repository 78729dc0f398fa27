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
		w := open(t, withTokens)
		for path, want := range map[string]string{
			"/livez": "ok\n", "/readyz": "ok\n", "/healthz": "ok\n", "/readyz?verbose": "[+] engine\n[+] audit\nok\n",
		} {
			if r := w.with("Host", "10.0.0.9").get(path); r.status != 200 || string(r.text) != want {
				t.Errorf("%s answers %d %q, want 200 %q", path, r.status, r.text, want)
			}
		}
		if r := w.with("Accept", "application/json").get("/readyz"); !strings.Contains(string(r.text), `"status":"ok"`) {
			t.Errorf("the JSON is %s, want the status ok", r.text)
		}
		if strings.Contains(w.log.String(), "livez") {
			t.Error("a probe is in the log")
		}
		w.post("/livez", nil).problem(401, admin.Unauthenticated)
	})
	t.Run("a process that shuts down, or lacks a configuration or engine, is alive and not ready", func(t *testing.T) {
		draining := errors.New("the gateway is draining at 10.1.1.1")
		w := open(t, func(o *admin.Options) {
			o.Ready = func() error { return draining }
			o.Rules = func() *config.Config { return nil }
		})
		r := w.get("/readyz?verbose")
		if r.status != 503 || string(r.text) != "[+] engine\n[-] config\n[-] serving\n[+] audit\nfailed\n" {
			t.Errorf("/readyz answers %d %s, want 503 and the checks config and serving failed", r.status, r.text)
		}
		if r := w.get("/livez"); r.status != 200 {
			t.Errorf("/livez answers %d, want 200", r.status)
		}
		var h admin.Health
		if w.get("/api/v1/health").into(&h); h.Ready || h.Checks[2].Error != draining.Error() {
			t.Errorf("health is %+v, want not ready, because the gateway is draining", h)
		}
	})
	t.Run("an engine that is down makes the process not ready", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			fixture := interlocktest.New(t)
			api := openWithoutServer(t, func(o *admin.Options) { o.Engine, o.Client = fixture.Engine(), fixture.Client() })
			defer api.end()
			if h := serveGet[admin.Health](t, api.api, "/api/v1/health"); !h.Ready {
				t.Errorf("health is %+v, want ready", h)
			}
			fixture.Fail()
			time.Sleep(2 * time.Second)
			if h := serveGet[admin.Health](t, api.api, "/api/v1/health"); h.Ready || h.Checks[0].OK {
				t.Errorf("with the engine down, health is %+v, want not ready", h)
			}
			serve(t, api.api, "GET", "/readyz", "", 503)
			p := serve(t, api.api, "GET", "/api/v1/locks", "", 503)
			if !strings.Contains(p, string(admin.Unavailable)) {
				t.Errorf("the list of locks is answered with %s, want the code %s", p, admin.Unavailable)
			}
			serve(t, api.api, "POST", "/api/v1/locks/x/release", `{"reason":"x"}`, 503)
			serve(t, api.api, "GET", "/api/v1/claims", "", 503)
			fixture.Heal()
			time.Sleep(2 * time.Second)
			serve(t, api.api, "GET", "/readyz", "", 200)
		})
	})
	t.Run("health contains the doctor's report in both languages", func(t *testing.T) {
		w := open(t)
		var en, zh admin.Health
		w.get("/api/v1/health").into(&en)
		w.with("Accept-Language", "zh-CN,zh").get("/api/v1/health").into(&zh)
		if !en.Ready || en.Doctor["topology"] != "embedded" || en.Doctor["not_guaranteed"] == zh.Doctor["not_guaranteed"] {
			t.Errorf("health is %+v in English and %+v in Chinese, want two different texts", en, zh)
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
		t.Errorf("the counters are %+v, want 1 held lock, and 7 claims and 3 replays of order", s)
	}
}

func TestReload(t *testing.T) {
	mistake, calls := errors.New("interlock.yaml:3:5: there is no such field"), 0
	w := open(t, func(o *admin.Options) {
		o.Rules = func() *config.Config { return &config.Config{File: "interlock.yaml"} }
		o.Reload = func(context.Context) error { calls++; return mistake }
	})
	p := w.post("/api/v1/reload", reasonBody).problem(422, admin.Invalid)
	if !strings.Contains(p.Detail, mistake.Error()) {
		t.Errorf("the problem is %+v, want the mistake in its detail", p)
	}
	var rules admin.Rules
	if w.get("/api/v1/rules").into(&rules); rules.Reload == nil || rules.Reload.OK || rules.Reload.Error != mistake.Error() {
		t.Errorf("the rules do not contain the last error: %+v", rules)
	}
	mistake = nil
	var r admin.Reload
	if w.post("/api/v1/reload", reasonBody).into(&r); !r.OK || calls != 2 {
		t.Errorf("the reload is %+v after %d calls, want it to succeed with call 2", r, calls)
	}
	w = open(t)
	w.post("/api/v1/reload", reasonBody).problem(409, admin.NotSupported)
	w.get("/api/v1/rules").problem(409, admin.NotSupported)
}

// The API switches to a standby, and degrades to local locks. That is a part of requirement
// T13, on emergencies.
func TestStandby(t *testing.T) {
	newStandby := func(t *testing.T, primary, secondary *interlocktest.World) (*fixture, *standby.Engine) {
		e, err := standby.New(t.Context(), primary.Engine(), secondary.Engine())
		if err != nil {
			t.Fatal(err)
		}
		w := openWithoutServer(t, func(o *admin.Options) { o.Engine, o.Client = e, interlock.New(e) })
		t.Cleanup(func() { _ = e.Close() })
		return w, e
	}
	t.Run("an operator switches and later degrades, and the audit log records both", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, e := newStandby(t, interlocktest.New(t), interlocktest.New(t))
			defer w.end()
			if s := serveGet[admin.Switch](t, w.api, "/api/v1/standby"); s.Side != "primary" || len(s.Reached) != 2 {
				t.Errorf("the standby is %+v, want the primary in use and both sides reached", s)
			}
			serve(t, w.api, "POST", "/api/v1/standby/switch", `{"to":"standby","reason":"maintenance"}`, 200)
			s := serveGet[admin.Switch](t, w.api, "/api/v1/standby")
			if s.Side != "standby" || s.By != "local" || s.FreezeMS <= 0 || s.Epoch != 1 || e.State().Side != standby.Standby {
				t.Errorf("after the switch the standby is %+v, want the side standby, epoch 1, switched by local, and a freeze", s)
			}
			serve(t, w.api, "POST", "/api/v1/standby/degrade", `{"reason":"both are on fire"}`, 200)
			if e.State().Side != standby.Local {
				t.Errorf("after degrading the state is %+v, want the side local", e.State())
			}
			if st := serveGet[admin.Stats](t, w.api, "/api/v1/stats"); st.Standby == nil || st.Standby.Switches != 2 {
				t.Errorf("the counters are %+v, want 2 switches", st.Standby)
			}
			audit := serveGet[admin.Audit](t, w.api, "/api/v1/audit")
			if len(audit.Entries) != 2 || audit.Entries[0].Action != "degrade" || audit.Entries[1].Action != "switch:standby" || audit.Entries[1].Before[0].State != "primary" {
				t.Errorf("the audit log is %+v, want degrade, and before it switch:standby from the primary", audit)
			}
		})
	})
	t.Run("a switched standby is not ready until it grants locks again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, e := newStandby(t, interlocktest.New(t), interlocktest.New(t))
			defer w.end()
			if _, hold, err := interlock.New(e).Mutex("order").Lock(t.Context()); err != nil {
				t.Fatal(err)
			} else if err := hold.Unlock(); err != nil {
				t.Fatal(err)
			}
			serve(t, w.api, "GET", "/readyz", "", 200)
			serve(t, w.api, "POST", "/api/v1/standby/switch", `{"to":"standby","reason":"maintenance"}`, 200)
			time.Sleep(2 * time.Second)
			serve(t, w.api, "GET", "/readyz", "", 503)
			time.Sleep(time.Until(e.State().FrozenUntil) + 2*time.Second)
			serve(t, w.api, "GET", "/readyz", "", 200)
		})
	})
	t.Run("a side that cannot be reached is a conflict, unless the switch is forced", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			primary := interlocktest.New(t)
			w, e := newStandby(t, primary, interlocktest.New(t))
			defer w.end()
			primary.Fail()
			time.Sleep(5 * time.Second)
			text := serve(t, w.api, "POST", "/api/v1/standby/switch", `{"to":"standby","reason":"x"}`, 409)
			if !strings.Contains(text, string(admin.Conflict)) || e.State().Side != standby.Primary {
				t.Errorf("a switch with an unreachable side is answered with %s, and the side is %v; want a conflict and the primary", text, e.State().Side)
			}
			serve(t, w.api, "POST", "/api/v1/standby/switch", `{"to":"standby","reason":"x","force":true}`, 200)
			if e.State().Side != standby.Standby {
				t.Errorf("after a forced switch the state is %+v, want the side standby", e.State())
			}
		})
	})
	t.Run("an engine without a standby cannot be switched", func(t *testing.T) {
		w := open(t, func(o *admin.Options) { o.Engine = memory.New() })
		w.get("/api/v1/standby").problem(409, admin.NotSupported)
		w.post("/api/v1/standby/switch", map[string]any{"to": "standby", "reason": "x"}).problem(409, admin.NotSupported)
		w.post("/api/v1/standby/degrade", reasonBody).problem(409, admin.NotSupported)
		w.post("/api/v1/standby/switch", map[string]any{"to": "local", "reason": "x"}).problem(422, admin.Invalid)
		w.post("/api/v1/standby/switch", map[string]any{"to": "standby"}).problem(422, admin.Invalid)
	})
}
