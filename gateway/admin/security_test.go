package admin_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/gateway/admin"
	"github.com/interlock-go/interlock/gateway/config"
)

// The numbers are those of the security table in docs/traps.md: 29 to 35 are about this
// API.

const (
	viewer   = "a token for those who only look"
	operator = "a token for those who change something"
)

// guarded configures tokens.
func guarded(o *admin.Options) {
	o.Config.Tokens = []config.AdminToken{
		{Name: "eve", Role: config.View, SHA256: sum(viewer)},
		{Name: "ann", Role: config.Operate, SHA256: sum(operator)},
	}
}

func sum(token string) string {
	s := sha256.Sum256([]byte(token))
	return hex.EncodeToString(s[:])
}

// as returns the fixture with a token in every request.
func (w *fixture) as(token string) *fixture {
	x := *w
	x.header = http.Header{"Authorization": {"Bearer " + token}}
	return &x
}

// with returns the fixture with a header in every request.
func (w *fixture) with(pairs ...string) *fixture {
	x := *w
	x.header = w.header.Clone()
	for i := 0; i < len(pairs); i += 2 {
		x.header.Set(pairs[i], pairs[i+1])
	}
	return &x
}

func TestSecurity29OtherMachinesNeedTokensAndTLS(t *testing.T) {
	tokens, cert := []config.AdminToken{{Name: "a"}}, &config.TLS{}
	for _, c := range []struct {
		cfg  config.Admin
		open bool
	}{
		{config.Admin{Listen: "127.0.0.1:7070"}, true},
		{config.Admin{Listen: "[::1]:7070"}, true},
		{config.Admin{Listen: "localhost:0"}, true},
		{config.Admin{Listen: "127.8.8.8:1"}, true},
		{config.Admin{Listen: ":7070"}, false},
		{config.Admin{Listen: "0.0.0.0:7070"}, false},
		{config.Admin{Listen: "[::]:7070"}, false},
		{config.Admin{Listen: "10.0.0.1:7070"}, false},
		{config.Admin{Listen: "example.com:7070"}, false},
		{config.Admin{Listen: "localhost.example.com:7070"}, false},
		{config.Admin{Listen: "0.0.0.0:7070", Tokens: tokens}, false},
		{config.Admin{Listen: "0.0.0.0:7070", TLS: cert}, false},
		{config.Admin{Listen: "0.0.0.0:7070", Tokens: tokens, TLS: cert}, true},
		{config.Admin{Listen: "0.0.0.0:7070", Insecure: true}, true},
	} {
		if err := admin.CheckListen(&c.cfg); (err == nil) != c.open || err != nil && !errors.Is(err, admin.ErrExposed) {
			t.Errorf("%+v: %v", c.cfg, err)
		}
	}
	if err := admin.CheckListen(&config.Admin{Listen: "nonsense"}); err == nil {
		t.Error("an invalid address was accepted")
	}
	t.Run("without tokens only clients on this machine are served", func(t *testing.T) {
		w := open(t)
		for from, status := range map[string]int{"127.0.0.1:5": 200, "[::1]:5": 200, "[::ffff:127.0.0.1]:5": 200, "10.1.2.3:5": 401, "[2001:db8::1]:5": 401, "@": 401} {
			r := httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/locks", nil)
			r.RemoteAddr = from
			rec := httptest.NewRecorder()
			if w.api.ServeHTTP(rec, r); rec.Code != status {
				t.Errorf("from %s: %d, want %d", from, rec.Code, status)
			}
		}
		if !strings.Contains(w.log.String(), "has no tokens") {
			t.Errorf("the log has no warning: %s", w.log)
		}
	})
}

func TestSecurity30TokensAndRoles(t *testing.T) {
	t.Run("a client without a valid token can read and change nothing", func(t *testing.T) {
		w := open(t, guarded)
		w.lock(w.client.Mutex("a:1"))
		for _, token := range []string{"", "wrong", operator + " ", strings.ToUpper(viewer), sum(operator)} {
			x := w.as(token)
			if token == "" {
				x = w
			}
			if token == operator+" " {
				continue // spaces around a token are trimmed
			}
			if r := x.get("/api/v1/locks"); r.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%q: the response does not say how to authenticate", token)
			} else {
				r.problem(401, admin.Unauthenticated)
			}
		}
		w.with("Authorization", "Basic "+operator).get("/api/v1/locks").problem(401, admin.Unauthenticated)
		w.post(at("locks", "a:1")+"/release", why).problem(401, admin.Unauthenticated)
		if r := w.get("/openapi.json"); r.status != 200 {
			t.Errorf("the document is %d", r.status)
		}
	})
	t.Run("a token is for a role", func(t *testing.T) {
		w := open(t, guarded)
		w.lock(w.client.Mutex("a:1"))
		w.as(viewer).get("/api/v1/locks").into(&admin.Locks{})
		for _, path := range writes {
			w.as(viewer).post(path, why).problem(403, admin.Forbidden)
		}
		w.as(operator).post(at("locks", "a:1")+"/release", why).into(&admin.LockDetail{})
	})
	t.Run("a read-only API refuses every change", func(t *testing.T) {
		w := open(t, guarded, func(o *admin.Options) { o.Config.ReadOnly = true })
		for _, path := range writes {
			w.as(operator).post(path, why).problem(403, admin.ReadOnly)
		}
		var v admin.Identity
		if w.as(operator).get("/api/v1/session").into(&v); !v.ReadOnly || v.Role != config.Operate || v.Name != "ann" {
			t.Errorf("the identity is %+v", v)
		}
	})
	t.Run("tokens come from files and the environment, and short ones are refused", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(file, []byte(operator+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("VIEW_TOKEN", viewer)
		w := open(t, func(o *admin.Options) {
			o.Config.Tokens = []config.AdminToken{{Name: "a", Role: config.Operate, File: file}, {Name: "b", Role: config.View, Env: "VIEW_TOKEN"}}
		})
		w.as(operator).get("/api/v1/locks").into(&admin.Locks{})
		w.as(viewer).get("/api/v1/locks").into(&admin.Locks{})
		t.Setenv("SHORT", "short")
		for _, bad := range []config.AdminToken{
			{Name: "x", Role: config.View}, {Name: "x", Role: config.View, SHA256: "12"}, {Name: "x", Role: config.View, Env: "SHORT"},
			{Name: "x", Role: config.View, Env: "NOT_SET_AT_ALL"}, {Name: "x", Role: config.View, File: "/nowhere"},
			{Name: "x", Role: "admin", SHA256: sum("x")}, {Role: config.View, SHA256: sum("x")},
		} {
			_, err := admin.New(admin.Options{Client: w.client, Engine: w.engine, Config: &config.Admin{Tokens: []config.AdminToken{bad}}})
			if err == nil {
				t.Errorf("%+v was accepted", bad)
			}
		}
	})
	t.Run("a client on this machine needs a token, too", func(t *testing.T) {
		api := handler(t, func(o *admin.Options) { o.Config = &config.Admin{Listen: "127.0.0.1:7070"} })
		r := httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/locks", nil)
		r.RemoteAddr = "127.0.0.1:1" // as behind nginx with proxy_pass and nothing else
		rec := httptest.NewRecorder()
		if api.ServeHTTP(rec, r); rec.Code != 401 {
			t.Errorf("got %d", rec.Code)
		}
	})
	t.Run("a token beats a cookie", func(t *testing.T) {
		api := handler(t, guarded)
		login := httptest.NewRecorder()
		api.ServeHTTP(login, httptest.NewRequest(http.MethodGet, "http://localhost"+admin.LoginPath+"?token="+url.QueryEscape(operator), nil))
		if login.Code != 303 || len(login.Result().Cookies()) != 1 || strings.Contains(login.Header().Get("Location"), operator) {
			t.Fatalf("the login link is answered with %d %v", login.Code, login.Header())
		}
		wrong := httptest.NewRecorder()
		api.ServeHTTP(wrong, httptest.NewRequest(http.MethodGet, "http://localhost"+admin.LoginPath+"?token=wrong", nil))
		if wrong.Code != 401 || len(wrong.Result().Cookies()) != 0 {
			t.Errorf("a wrong link is answered with %d", wrong.Code)
		}
		for token, want := range map[string]string{"": `"operate"`, viewer: `"view"`, "wrong": "unauthenticated"} {
			r := httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/session", nil)
			r.AddCookie(login.Result().Cookies()[0])
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			rec := httptest.NewRecorder()
			if api.ServeHTTP(rec, r); !strings.Contains(rec.Body.String(), want) {
				t.Errorf("with the token %q: %s", token, rec.Body)
			}
		}
	})
	t.Run("wrong tokens block their address for longer and longer, and no other", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			api := handler(t, guarded)
			try := func(from, token string) int {
				r := httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/session", nil)
				r.RemoteAddr = from + ":1"
				r.Header.Set("Authorization", "Bearer "+token)
				rec := httptest.NewRecorder()
				api.ServeHTTP(rec, r)
				return rec.Code
			}
			for range 6 {
				if code := try("10.0.0.1", "wrong"); code != 401 {
					t.Fatalf("a wrong token is answered with %d", code)
				}
			}
			if code := try("10.0.0.1", "wrong"); code != 429 {
				t.Errorf("the seventh wrong token is answered with %d at once", code)
			}
			if code := try("10.0.0.1", operator); code != 200 {
				t.Errorf("wrong tokens lock out a right one from the same address: %d", code)
			}
			if code := try("10.0.0.2", operator); code != 200 {
				t.Errorf("another address gets %d", code)
			}
			tries := 0
			for start := time.Now(); time.Since(start) < 10*time.Minute; time.Sleep(100 * time.Millisecond) {
				if try("10.0.0.1", "wrong") == 401 {
					tries++
				}
			}
			if tries > 20 {
				t.Errorf("%d tokens were tried in ten minutes", tries)
			}
			for i := range 5000 { // addresses; memory is bounded
				try(fmt.Sprintf("10.1.%d.%d", i/250, i%250+1), "wrong")
			}
			if n := api.Addresses(); n > 1024 {
				t.Errorf("%d addresses are remembered", n)
			}
		})
	})
	t.Run("every change and every refused one is recorded", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "audit.jsonl")
		w := open(t, guarded, func(o *admin.Options) { o.Config.Audit = file })
		key := "a:\u202e\u200b<script>"
		hold := w.lock(w.client.Mutex(key))
		w.as(operator).post(at("locks", key)+"/release", map[string]any{"reason": "leaked\u202e"}).into(&admin.LockDetail{})
		w.as(viewer).post(at("locks", key)+"/release", why).problem(403, admin.Forbidden)
		w.as("guess").post(at("locks", key)+"/release", why).problem(401, admin.Unauthenticated)
		w.as(operator).post(at("claims", "order:x")+"/expire", why).problem(404, admin.NotFound)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var entries []admin.AuditEntry
		for line := range bytes.Lines(text) {
			var d admin.AuditEntry
			if err := json.Unmarshal(line, &d); err != nil {
				t.Fatal(err)
			}
			if d.Result != "begun" { // those come before a change
				entries = append(entries, d)
			}
		}
		if n := bytes.Count(text, []byte(`"result":"begun"`)); n != 2 {
			t.Errorf("%d changes were begun: %s", n, text)
		}
		if len(entries) != 4 {
			t.Fatalf("%d lines: %s", len(entries), text)
		}
		d := entries[0]
		if d.Actor != "ann" || d.Role != "operate" || d.Action != "release" || d.Key != `a:\u202e\u200b<script>` || len(d.KeyHash) != 16 ||
			len(d.Before) != 1 || d.Before[0].Fence != hold.Fence() || d.Before[0].Owner == "" || d.Reason != `leaked\u202e` ||
			d.Address != "127.0.0.1" || d.Result != "ok" || time.Since(d.Time) > time.Minute {
			t.Errorf("the release is recorded as %+v", d)
		}
		if strings.Contains(string(text)+w.log.String(), hold.Holder()) {
			t.Error("the holder's id is recorded")
		}
		for i, want := range []struct{ who, result, code string }{{"eve", "refused", "forbidden"}, {"anonymous", "refused", "unauthenticated"}, {"ann", "refused", "not_found"}} {
			if got := entries[i+1]; got.Actor != want.who || got.Result != want.result || string(got.Code) != want.code {
				t.Errorf("recorded is %+v, want %v", got, want)
			}
		}
		var audit admin.Audit
		w.as(viewer).get("/api/v1/audit?limit=2").into(&audit)
		if len(audit.Entries) != 2 || audit.Entries[0].Action != "expire" {
			t.Errorf("the audit log is %+v", audit)
		}
		if n := strings.Count(w.log.String(), `"msg":"admin: `); n != 4 {
			t.Errorf("the log has %d lines of it: %s", n, w.log)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file is %v, %v", info.Mode(), err)
		}
	})
	t.Run("with a full disk for the audit log, nothing is changed", func(t *testing.T) {
		if _, err := os.Stat("/dev/full"); err != nil {
			t.Skip("no /dev/full here:", err)
		}
		w := open(t, func(o *admin.Options) { o.Config.Audit = "/dev/full" })
		w.lock(w.client.Mutex("a:1"))
		leave(t, w.orders(), "a")
		var claims admin.Claims
		w.get("/api/v1/claims?state=unknown").into(&claims)
		id := claims.Claims[0].ID
		for path, body := range map[string]map[string]any{
			at("locks", "a:1") + "/release": why, "/api/v1/locks/release-all": {"pattern": "*", "confirm": 1, "reason": "x"},
			at("claims", id) + "/expire": why, at("claims", id) + "/resolve": {"outcome": "free", "reason": "x"},
		} {
			w.post(path, body).problem(503, admin.AuditUnavailable)
		}
		if info, err := w.client.Inspect(t.Context(), "a:1"); err != nil || len(info.Holders) != 1 {
			t.Errorf("the lock is %+v, %v", info, err)
		}
		w.get("/api/v1/claims?state=unknown").into(&claims)
		if len(claims.Claims) != 1 {
			t.Errorf("the records are %+v", claims)
		}
		if r := w.get("/readyz"); r.status != 503 {
			t.Errorf("the process is ready: %d", r.status)
		}
	})
	t.Run("an audit log that cannot be written is an error", func(t *testing.T) {
		w := open(t)
		_, err := admin.New(admin.Options{Client: w.client, Engine: w.engine, Config: &config.Admin{Audit: "/nowhere/audit"}})
		if err == nil {
			t.Error("it was accepted")
		}
	})
	t.Run("refused requests cannot fill the audit log", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := closed(t, guarded)
			defer w.end()
			for range 300 {
				w.api.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "http://localhost/api/v1/reload", nil))
			}
			if n := strings.Count(w.log.String(), "unauthenticated"); n != 100 {
				t.Errorf("%d of 300 refused requests are recorded", n)
			}
		})
	})
}

// writes are the paths of operations that change something.
var writes = []string{
	"/api/v1/locks/a:1/release", "/api/v1/locks/release-all", "/api/v1/claims/order:x/expire", "/api/v1/claims/order:x/resolve",
	"/api/v1/reload", "/api/v1/standby/switch", "/api/v1/standby/degrade",
}

func TestSecurity31OtherSitesChangeNothing(t *testing.T) {
	t.Run("a request from another site's page is refused", func(t *testing.T) {
		w := open(t)
		w.lock(w.client.Mutex("a:1"))
		for _, path := range append(slices.Clone(writes), "/api/v1/session") {
			w.with("Sec-Fetch-Site", "cross-site").post(path, why).problem(403, admin.CrossOrigin)
			w.with("Sec-Fetch-Site", "same-site").post(path, why).problem(403, admin.CrossOrigin)
			w.with("Origin", "https://evil.example").post(path, why).problem(403, admin.CrossOrigin)
			w.with("Origin", "null").post(path, why).problem(403, admin.CrossOrigin)
		}
		w.with("Sec-Fetch-Site", "same-origin").post(at("locks", "a:1")+"/release", why).into(&admin.LockDetail{})
		w.with("Origin", w.server.URL).post(at("locks", "a:1")+"/release", why).into(&admin.LockDetail{})
	})
	t.Run("a form's content type is not taken for JSON", func(t *testing.T) {
		w := open(t)
		for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, w.server.URL+at("locks", "x")+"/release", strings.NewReader(`{"reason":"x"}`))
			r.Header.Set("Content-Type", media)
			if got := w.send(r).status; got < 400 || got >= 500 {
				t.Errorf("%s is answered with %d", media, got)
			}
		}
	})
	t.Run("GET and HEAD change nothing", func(t *testing.T) {
		w := open(t)
		w.lock(w.client.Mutex("a:1"))
		for _, path := range writes {
			for _, method := range []string{"GET", "HEAD"} {
				if r := w.call(method, path, nil); r.status < 400 && !strings.HasSuffix(path, "release-all") {
					t.Errorf("%s %s is answered with %d", method, path, r.status)
				}
			}
		}
		var list admin.Locks
		if w.get("/api/v1/locks").into(&list); len(list.Locks) != 1 {
			t.Errorf("the remaining locks are %+v", list)
		}
	})
	t.Run("a session is a cookie that only this site's pages send", func(t *testing.T) {
		w := open(t, guarded)
		w.post("/api/v1/session", map[string]any{"token": "wrong"}).problem(401, admin.Unauthenticated)
		r := w.post("/api/v1/session", map[string]any{"token": operator})
		var v admin.Identity
		if r.into(&v); !v.Authenticated || v.Name != "ann" || v.Role != config.Operate || !v.Tokens {
			t.Errorf("the identity is %+v", v)
		}
		set := r.header.Get("Set-Cookie")
		for _, want := range []string{"interlock=", "HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"} {
			if !strings.Contains(set, want) {
				t.Errorf("the cookie %q lacks %s", set, want)
			}
		}
		value, _, _ := strings.Cut(set, ";")
		x := w.with("Cookie", value)
		x.get("/api/v1/locks").into(&admin.Locks{})
		x.with("Origin", "https://evil.example").post("/api/v1/reload", why).problem(403, admin.CrossOrigin)
		for range 10 { // wrong tokens from this address do not end a session
			w.as("wrong").get("/api/v1/locks")
		}
		x.get("/api/v1/locks").into(&admin.Locks{})
		if r := x.call("DELETE", "/api/v1/session", nil); r.status != 200 || !strings.Contains(r.header.Get("Set-Cookie"), "Max-Age=0") {
			t.Errorf("the end is %d, %q", r.status, r.header.Get("Set-Cookie"))
		}
		x.get("/api/v1/locks").problem(401, admin.Unauthenticated)
	})
	t.Run("over TLS the cookie has the prefix __Host-", func(t *testing.T) {
		api := handler(t, guarded)
		r := httptest.NewRequest(http.MethodPost, "https://localhost/api/v1/session", strings.NewReader(`{"token":"`+viewer+`"}`))
		r.TLS = &tls.ConnectionState{}
		r.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		api.ServeHTTP(rec, r)
		if set := rec.Header().Get("Set-Cookie"); rec.Code != 200 || !strings.HasPrefix(set, "__Host-interlock=") || !strings.Contains(set, "Secure") {
			t.Errorf("the answer is %d with the cookie %q", rec.Code, set)
		}
	})
	t.Run("sessions expire, and their number is limited", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			api := handler(t, guarded)
			begin := func() string {
				r := httptest.NewRequest(http.MethodPost, "http://localhost/api/v1/session", strings.NewReader(`{"token":"`+viewer+`"}`))
				rec := httptest.NewRecorder()
				api.ServeHTTP(rec, r)
				value, _, _ := strings.Cut(rec.Header().Get("Set-Cookie"), ";")
				return value
			}
			good := func(cookie string) bool {
				r := httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/locks", nil)
				r.Header.Set("Cookie", cookie)
				rec := httptest.NewRecorder()
				api.ServeHTTP(rec, r)
				return rec.Code == 200
			}
			first := begin()
			time.Sleep(11 * time.Hour)
			if !good(first) {
				t.Error("the session has ended after 11 hours")
			}
			time.Sleep(2 * time.Hour)
			if good(first) {
				t.Error("the session has not ended after 13 hours")
			}
			first = begin()
			for range 1100 {
				time.Sleep(10 * time.Millisecond)
				begin()
			}
			if n := api.Sessions(); n > 1024 || good(first) {
				t.Errorf("there are %d sessions", n)
			}
		})
	})
}

// handler returns an API without a server, for virtual time.
func handler(t *testing.T, change ...func(*admin.Options)) *admin.Server {
	t.Helper()
	w := closed(t, change...)
	t.Cleanup(w.end)
	return w.api
}

func TestSecurity34ForeignHosts(t *testing.T) {
	w := open(t, func(o *admin.Options) {
		o.Config.Hosts = []string{"Admin.Example.com"}
		o.Config.Listen = "shop-1:7070"
	})
	for host, status := range map[string]int{
		"localhost": 200, "LOCALHOST:7070": 200, "localhost.": 200, "127.0.0.1:1": 200, "[::1]:7070": 200, "127.9.9.9": 200,
		"admin.example.com": 200, "admin.example.com:443": 200, "shop-1:7070": 200,
		"evil.example": 421, "localhost.evil.example": 421, "admin.example.com.evil.example": 421, "127.0.0.1.evil.example": 421,
		"10.0.0.1": 421, "evil.example:7070": 421, "xn--localhost": 421,
	} {
		if r := w.with("Host", host).get("/api/v1/locks"); r.status != status {
			t.Errorf("with the host %s the status is %d, want %d", host, r.status, status)
		} else if status == 421 {
			r.problem(421, admin.HostRefused)
			w.with("Host", host).post("/api/v1/reload", why).problem(421, admin.HostRefused)
			w.with("Host", host).get("/openapi.json").problem(421, admin.HostRefused)
		}
	}
	t.Run("other sites cannot read a response", func(t *testing.T) {
		r := w.with("Origin", "https://evil.example").call("OPTIONS", "/api/v1/locks", nil)
		if r.status < 400 || r.header.Get("Access-Control-Allow-Origin") != "" || r.header.Get("Access-Control-Allow-Methods") != "" {
			t.Errorf("OPTIONS is answered with %d, %v", r.status, r.header)
		}
	})
	t.Run("the requests of one address are limited", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			api := handler(t)
			count := func() (served int) {
				for range 3000 {
					r := httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/session", nil)
					r.RemoteAddr = "127.0.0.1:1"
					rec := httptest.NewRecorder()
					api.ServeHTTP(rec, r)
					switch {
					case rec.Code == 200:
						served++
					case rec.Code != 429 || rec.Header().Get("Retry-After") != "1":
						t.Fatalf("the answer is %d, %v", rec.Code, rec.Header())
					}
				}
				return served
			}
			if n := count(); n != 1000 {
				t.Errorf("%d of 3,000 requests at once were served", n)
			}
			time.Sleep(time.Second)
			if n := count(); n != 200 {
				t.Errorf("a second later %d more were", n)
			}
		})
	})
	t.Run("a large body is refused", func(t *testing.T) {
		r := w.post(at("locks", "x")+"/release", map[string]any{"reason": strings.Repeat("x", 100<<10)})
		r.problem(413, admin.TooLarge)
	})
}

func TestSecurity35NoSecretsAndNoDebugEndpoints(t *testing.T) {
	w := open(t)
	for _, path := range []string{"/debug/pprof/", "/debug/vars", "/metrics", "/docs", "/schemas", "/"} {
		w.get(path).problem(404, admin.NotFound)
	}
	cfg, err := config.Parse("x.yaml", []byte(`
engine: redis://ann:hunter2@127.0.0.1:6379?password=hunter2
to: http://127.0.0.1:9000
principal: none
admin:
  tokens:
    - {name: ops, role: operate, sha256: `+sum("hunter2hunter2hunter2")+`}
rules:
  - match: POST /orders
    once: order:{header.Idempotency-Key}
    scope: key
`))
	if cfg == nil {
		t.Fatal(err)
	}
	w = open(t, func(o *admin.Options) { o.Rules = func() *config.Config { return cfg } })
	r := w.get("/api/v1/rules")
	var rules admin.Rules
	r.into(&rules)
	if strings.Contains(string(r.text), "hunter2") || strings.Contains(string(r.text), sum("hunter2hunter2hunter2")) {
		t.Errorf("the rules contain a secret: %s", r.text)
	}
	if len(rules.Rules) != 1 || rules.Rules[0].Verb != "once" || rules.Rules[0].Path != "/orders" || rules.Rules[0].Policy == nil ||
		len(rules.Engine) != 1 || !strings.Contains(rules.Engine[0], "127.0.0.1:6379") {
		t.Errorf("the rules are %s", r.text)
	}
}
