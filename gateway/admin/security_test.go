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

// The numbers in test names are rows of the security table in docs/traps.md. Rows 29 to 35
// are about this API.

const (
	viewer   = "a token with the role view"
	operator = "a token with the role operate"
)

// withTokens configures the tokens viewer and operator.
func withTokens(o *admin.Options) {
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

// with returns the fixture with further header fields in every request.
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
		cfg      config.Admin
		accepted bool
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
		if err := admin.CheckListen(&c.cfg); (err == nil) != c.accepted || err != nil && !errors.Is(err, admin.ErrExposed) {
			t.Errorf("CheckListen(%+v) = %v, want accepted: %v", c.cfg, err, c.accepted)
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
				t.Errorf("a request from %s gets %d, want %d", from, rec.Code, status)
			}
		}
		if !strings.Contains(w.log.String(), "has no tokens") {
			t.Errorf("the log has no warning: %s", w.log)
		}
	})
}

func TestSecurity30TokensAndRoles(t *testing.T) {
	t.Run("a client without a valid token can read and change nothing", func(t *testing.T) {
		w := open(t, withTokens)
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
				t.Errorf("the response to the token %q has no WWW-Authenticate", token)
			} else {
				r.problem(401, admin.Unauthenticated)
			}
		}
		w.with("Authorization", "Basic "+operator).get("/api/v1/locks").problem(401, admin.Unauthenticated)
		w.post(pathOf("locks", "a:1")+"/release", reasonBody).problem(401, admin.Unauthenticated)
		if r := w.get("/openapi.json"); r.status != 200 {
			t.Errorf("the OpenAPI document has the status %d without a token, want 200", r.status)
		}
	})
	t.Run("the role of a token decides what it may change", func(t *testing.T) {
		w := open(t, withTokens)
		w.lock(w.client.Mutex("a:1"))
		w.as(viewer).get("/api/v1/locks").into(&admin.Locks{})
		for _, path := range writes {
			w.as(viewer).post(path, reasonBody).problem(403, admin.Forbidden)
		}
		w.as(operator).post(pathOf("locks", "a:1")+"/release", reasonBody).into(&admin.LockDetail{})
	})
	t.Run("a read-only API refuses every change", func(t *testing.T) {
		w := open(t, withTokens, func(o *admin.Options) { o.Config.ReadOnly = true })
		for _, path := range writes {
			w.as(operator).post(path, reasonBody).problem(403, admin.ReadOnly)
		}
		var v admin.Identity
		if w.as(operator).get("/api/v1/session").into(&v); !v.ReadOnly || v.Role != config.Operate || v.Name != "ann" {
			t.Errorf("the identity is %+v, want ann with the role operate on a read-only API", v)
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
				t.Errorf("New accepts the token %+v, want an error", bad)
			}
		}
	})
	t.Run("a client on this machine needs a token, too", func(t *testing.T) {
		api := handler(t, func(o *admin.Options) { o.Config = &config.Admin{Listen: "127.0.0.1:7070"} })
		r := httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/locks", nil)
		r.RemoteAddr = "127.0.0.1:1" // a local nginx with a bare proxy_pass has this address, too
		rec := httptest.NewRecorder()
		if api.ServeHTTP(rec, r); rec.Code != 401 {
			t.Errorf("a request without a token gets %d, want 401", rec.Code)
		}
	})
	t.Run("a token takes precedence over a cookie", func(t *testing.T) {
		api := handler(t, withTokens)
		login := httptest.NewRecorder()
		api.ServeHTTP(login, httptest.NewRequest(http.MethodGet, "http://localhost"+admin.LoginPath+"?token="+url.QueryEscape(operator), nil))
		if login.Code != 303 || len(login.Result().Cookies()) != 1 || strings.Contains(login.Header().Get("Location"), operator) {
			t.Fatalf("the login link is answered with %d %v, want 303, one cookie and no token", login.Code, login.Header())
		}
		wrong := httptest.NewRecorder()
		api.ServeHTTP(wrong, httptest.NewRequest(http.MethodGet, "http://localhost"+admin.LoginPath+"?token=wrong", nil))
		if wrong.Code != 401 || len(wrong.Result().Cookies()) != 0 {
			t.Errorf("a link with a wrong token is answered with %d, want 401 without a cookie", wrong.Code)
		}
		for token, want := range map[string]string{"": `"operate"`, viewer: `"view"`, "wrong": "unauthenticated"} {
			r := httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/session", nil)
			r.AddCookie(login.Result().Cookies()[0])
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			rec := httptest.NewRecorder()
			if api.ServeHTTP(rec, r); !strings.Contains(rec.Body.String(), want) {
				t.Errorf("with the token %q the session is %s, want %s", token, rec.Body, want)
			}
		}
	})
	t.Run("wrong tokens block their address for longer and longer, and no other", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			api := handler(t, withTokens)
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
					t.Fatalf("a wrong token is answered with %d, want 401", code)
				}
			}
			if code := try("10.0.0.1", "wrong"); code != 429 {
				t.Errorf("the seventh wrong token is answered with %d, want 429", code)
			}
			if code := try("10.0.0.1", operator); code != 200 {
				t.Errorf("a valid token from the blocked address is answered with %d, want 200", code)
			}
			if code := try("10.0.0.2", operator); code != 200 {
				t.Errorf("a valid token from another address is answered with %d, want 200", code)
			}
			tries := 0
			for start := time.Now(); time.Since(start) < 10*time.Minute; time.Sleep(100 * time.Millisecond) {
				if try("10.0.0.1", "wrong") == 401 {
					tries++
				}
			}
			if tries > 20 {
				t.Errorf("%d wrong tokens were checked in ten minutes, want at most 20", tries)
			}
			for i := range 5000 { // more addresses than may be in memory
				try(fmt.Sprintf("10.1.%d.%d", i/250, i%250+1), "wrong")
			}
			if n := api.Addresses(); n > 1024 {
				t.Errorf("%d addresses are in memory, want at most 1024", n)
			}
		})
	})
	t.Run("every change and every refused change is recorded", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "audit.jsonl")
		w := open(t, withTokens, func(o *admin.Options) { o.Config.Audit = file })
		key := "a:\u202e\u200b<script>"
		hold := w.lock(w.client.Mutex(key))
		w.as(operator).post(pathOf("locks", key)+"/release", map[string]any{"reason": "leaked\u202e"}).into(&admin.LockDetail{})
		w.as(viewer).post(pathOf("locks", key)+"/release", reasonBody).problem(403, admin.Forbidden)
		w.as("guess").post(pathOf("locks", key)+"/release", reasonBody).problem(401, admin.Unauthenticated)
		w.as(operator).post(pathOf("claims", "order:x")+"/expire", reasonBody).problem(404, admin.NotFound)
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
			if d.Result != "begun" { // such an entry precedes each change
				entries = append(entries, d)
			}
		}
		if n := bytes.Count(text, []byte(`"result":"begun"`)); n != 2 {
			t.Errorf("%d entries say begun, want 2: %s", n, text)
		}
		if len(entries) != 4 {
			t.Fatalf("the audit log has %d results, want 4: %s", len(entries), text)
		}
		d := entries[0]
		if d.Actor != "ann" || d.Role != "operate" || d.Action != "release" || d.Key != `a:\u202e\u200b<script>` || len(d.KeyHash) != 16 ||
			len(d.Before) != 1 || d.Before[0].Fence != hold.Fence() || d.Before[0].Owner == "" || d.Reason != `leaked\u202e` ||
			d.Address != "127.0.0.1" || d.Result != "ok" || time.Since(d.Time) > time.Minute {
			t.Errorf("the release is recorded as %+v, want ann, the escaped key and reason, the fence %d and the result ok", d, hold.Fence())
		}
		if strings.Contains(string(text)+w.log.String(), hold.Holder()) {
			t.Error("the holder's id is recorded")
		}
		for i, want := range []struct{ actor, result, code string }{{"eve", "refused", "forbidden"}, {"anonymous", "refused", "unauthenticated"}, {"ann", "refused", "not_found"}} {
			if got := entries[i+1]; got.Actor != want.actor || got.Result != want.result || string(got.Code) != want.code {
				t.Errorf("entry %d is %+v, want %v", i+1, got, want)
			}
		}
		var audit admin.Audit
		w.as(viewer).get("/api/v1/audit?limit=2").into(&audit)
		if len(audit.Entries) != 2 || audit.Entries[0].Action != "expire" {
			t.Errorf("the audit log is %+v, want two entries, first the refused expire", audit)
		}
		if n := strings.Count(w.log.String(), `"msg":"admin: `); n != 4 {
			t.Errorf("the log has %d lines about the changes, want 4: %s", n, w.log)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the audit file has the mode %v, error %v; want 0600", info.Mode(), err)
		}
	})
	t.Run("with a full disk for the audit log, nothing is changed", func(t *testing.T) {
		if _, err := os.Stat("/dev/full"); err != nil {
			t.Skip("this system has no /dev/full:", err)
		}
		w := open(t, func(o *admin.Options) { o.Config.Audit = "/dev/full" })
		w.lock(w.client.Mutex("a:1"))
		abandonClaim(t, w.orders(), "a")
		var claims admin.Claims
		w.get("/api/v1/claims?state=unknown").into(&claims)
		id := claims.Claims[0].ID
		for path, body := range map[string]map[string]any{
			pathOf("locks", "a:1") + "/release": reasonBody, "/api/v1/locks/release-all": {"pattern": "*", "confirm": 1, "reason": "x"},
			pathOf("claims", id) + "/expire": reasonBody, pathOf("claims", id) + "/resolve": {"outcome": "free", "reason": "x"},
		} {
			w.post(path, body).problem(503, admin.AuditUnavailable)
		}
		if info, err := w.client.Inspect(t.Context(), "a:1"); err != nil || len(info.Holders) != 1 {
			t.Errorf("the lock is %+v, error %v; want its holder unchanged", info, err)
		}
		w.get("/api/v1/claims?state=unknown").into(&claims)
		if len(claims.Claims) != 1 {
			t.Errorf("the records are %+v, want the one with an unknown outcome", claims)
		}
		if r := w.get("/readyz"); r.status != 503 {
			t.Errorf("/readyz answers %d, want 503", r.status)
		}
	})
	t.Run("an audit log that cannot be written is an error", func(t *testing.T) {
		w := open(t)
		_, err := admin.New(admin.Options{Client: w.client, Engine: w.engine, Config: &config.Admin{Audit: "/nowhere/audit"}})
		if err == nil {
			t.Error("New accepted an audit file that cannot be opened")
		}
	})
	t.Run("refused requests cannot fill the audit log", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := openWithoutServer(t, withTokens)
			defer w.end()
			for range 300 {
				w.api.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "http://localhost/api/v1/reload", nil))
			}
			if n := strings.Count(w.log.String(), "unauthenticated"); n != 100 {
				t.Errorf("%d of 300 refused requests are recorded, want 100", n)
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
			w.with("Sec-Fetch-Site", "cross-site").post(path, reasonBody).problem(403, admin.CrossOrigin)
			w.with("Sec-Fetch-Site", "same-site").post(path, reasonBody).problem(403, admin.CrossOrigin)
			w.with("Origin", "https://evil.example").post(path, reasonBody).problem(403, admin.CrossOrigin)
			w.with("Origin", "null").post(path, reasonBody).problem(403, admin.CrossOrigin)
		}
		w.with("Sec-Fetch-Site", "same-origin").post(pathOf("locks", "a:1")+"/release", reasonBody).into(&admin.LockDetail{})
		w.with("Origin", w.server.URL).post(pathOf("locks", "a:1")+"/release", reasonBody).into(&admin.LockDetail{})
	})
	t.Run("a form's content type is not taken for JSON", func(t *testing.T) {
		w := open(t)
		for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, w.server.URL+pathOf("locks", "x")+"/release", strings.NewReader(`{"reason":"x"}`))
			r.Header.Set("Content-Type", media)
			if got := w.send(r).status; got < 400 || got >= 500 {
				t.Errorf("a body of the type %s is answered with %d, want 4xx", media, got)
			}
		}
	})
	t.Run("GET and HEAD change nothing", func(t *testing.T) {
		w := open(t)
		w.lock(w.client.Mutex("a:1"))
		for _, path := range writes {
			for _, method := range []string{"GET", "HEAD"} {
				if r := w.call(method, path, nil); r.status < 400 && !strings.HasSuffix(path, "release-all") {
					t.Errorf("%s %s is answered with %d, want 4xx", method, path, r.status)
				}
			}
		}
		var list admin.Locks
		if w.get("/api/v1/locks").into(&list); len(list.Locks) != 1 {
			t.Errorf("the remaining locks are %+v, want a:1", list)
		}
	})
	t.Run("a session is a cookie that only this site's pages send", func(t *testing.T) {
		w := open(t, withTokens)
		w.post("/api/v1/session", map[string]any{"token": "wrong"}).problem(401, admin.Unauthenticated)
		r := w.post("/api/v1/session", map[string]any{"token": operator})
		var v admin.Identity
		if r.into(&v); !v.Authenticated || v.Name != "ann" || v.Role != config.Operate || !v.Tokens {
			t.Errorf("the identity is %+v, want ann, authenticated, with the role operate", v)
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
		x.with("Origin", "https://evil.example").post("/api/v1/reload", reasonBody).problem(403, admin.CrossOrigin)
		for range 10 { // wrong tokens from this address do not end a session
			w.as("wrong").get("/api/v1/locks")
		}
		x.get("/api/v1/locks").into(&admin.Locks{})
		if r := x.call("DELETE", "/api/v1/session", nil); r.status != 200 || !strings.Contains(r.header.Get("Set-Cookie"), "Max-Age=0") {
			t.Errorf("DELETE /session answers %d with the cookie %q, want 200 and Max-Age=0", r.status, r.header.Get("Set-Cookie"))
		}
		x.get("/api/v1/locks").problem(401, admin.Unauthenticated)
	})
	t.Run("over TLS the cookie has the prefix __Host-", func(t *testing.T) {
		api := handler(t, withTokens)
		r := httptest.NewRequest(http.MethodPost, "https://localhost/api/v1/session", strings.NewReader(`{"token":"`+viewer+`"}`))
		r.TLS = &tls.ConnectionState{}
		r.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		api.ServeHTTP(rec, r)
		if set := rec.Header().Get("Set-Cookie"); rec.Code != 200 || !strings.HasPrefix(set, "__Host-interlock=") || !strings.Contains(set, "Secure") {
			t.Errorf("the answer is %d with the cookie %q, want 200 and a Secure cookie with the prefix __Host-", rec.Code, set)
		}
	})
	t.Run("sessions expire, and their number is limited", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			api := handler(t, withTokens)
			begin := func() string {
				r := httptest.NewRequest(http.MethodPost, "http://localhost/api/v1/session", strings.NewReader(`{"token":"`+viewer+`"}`))
				rec := httptest.NewRecorder()
				api.ServeHTTP(rec, r)
				value, _, _ := strings.Cut(rec.Header().Get("Set-Cookie"), ";")
				return value
			}
			valid := func(cookie string) bool {
				r := httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/locks", nil)
				r.Header.Set("Cookie", cookie)
				rec := httptest.NewRecorder()
				api.ServeHTTP(rec, r)
				return rec.Code == 200
			}
			first := begin()
			time.Sleep(11 * time.Hour)
			if !valid(first) {
				t.Error("the session has ended after 11 hours")
			}
			time.Sleep(2 * time.Hour)
			if valid(first) {
				t.Error("the session has not ended after 13 hours")
			}
			first = begin()
			for range 1100 {
				time.Sleep(10 * time.Millisecond)
				begin()
			}
			if n := api.Sessions(); n > 1024 || valid(first) {
				t.Errorf("there are %d sessions, and the oldest is valid: %v; want at most 1024 without the oldest", n, valid(first))
			}
		})
	})
}

// handler returns an API without a server, for virtual time.
func handler(t *testing.T, change ...func(*admin.Options)) *admin.Server {
	t.Helper()
	w := openWithoutServer(t, change...)
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
			w.with("Host", host).post("/api/v1/reload", reasonBody).problem(421, admin.HostRefused)
			w.with("Host", host).get("/openapi.json").problem(421, admin.HostRefused)
		}
	}
	t.Run("other sites cannot read a response", func(t *testing.T) {
		r := w.with("Origin", "https://evil.example").call("OPTIONS", "/api/v1/locks", nil)
		if r.status < 400 || r.header.Get("Access-Control-Allow-Origin") != "" || r.header.Get("Access-Control-Allow-Methods") != "" {
			t.Errorf("OPTIONS is answered with %d, %v; want 4xx without CORS fields", r.status, r.header)
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
						t.Fatalf("a request gets %d %v, want 200, or 429 with Retry-After: 1", rec.Code, rec.Header())
					}
				}
				return served
			}
			if n := count(); n != 1000 {
				t.Errorf("%d of 3,000 requests at once were served, want 1,000", n)
			}
			time.Sleep(time.Second)
			if n := count(); n != 200 {
				t.Errorf("a second later, %d of 3,000 requests were served, want 200", n)
			}
		})
	})
	t.Run("a large body is refused", func(t *testing.T) {
		r := w.post(pathOf("locks", "x")+"/release", map[string]any{"reason": strings.Repeat("x", 100<<10)})
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
		t.Errorf("the rules are %s, want one rule once on /orders with its policy, and the address of the engine", r.text)
	}
}
