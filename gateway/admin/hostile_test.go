package admin_test

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/interlock-go/interlock/gateway/admin"
	"github.com/interlock-go/interlock/guard"
)

// hostile returns 500 names that attack terminals, pages, paths and parsers.
func hostile() (names []string) {
	seeds := []string{
		"..", ".", "/", "//", "a/b", "../../etc/passwd", "%2e%2e", "%", "%2F", "%zz", "a?b=c", "a#b", "a b", "+", "a&b", "a;b", "~", "release", "release-all",
		"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "';--", `\`, `\u202e`, "`id`", "$(id)", "{{.}}", "${jndi:ldap://x}", "\u202egnp.exe",
		"\u200bzero", "a\u2066b\u2069", "\ufeffbom", "\u2028line", "\u2029para", "é", "e\u0301", "订单:42", "🛒", "👩‍👩‍👧", "ﷺ", "\U000e0041tag", "null", "true", "0",
		"-1", "NaN", "__proto__", "constructor", "a\u00a0b", "\u3164", "*", "?", `\*`, "[a]", "a:b", ":", "a:", "data:text/html,x", "javascript:alert(1)",
		"Authorization", "=cmd|' /C calc'!A0", "@x", "\u0430dmin", "İ", "ß", "\ufffd", "\uffff", "{tag}", "a{b}c",
	}
	for i := 0; len(names) < 500; i++ {
		s := seeds[i%len(seeds)]
		switch i / len(seeds) {
		case 0:
		case 1:
			s = "order:" + s
		case 2:
			s += strings.Repeat("\u0301", 40)
		case 3:
			s = strings.Repeat(s+"|", 900/(len(s)+1)+1)[:900]
			s = strings.TrimRightFunc(strings.ToValidUTF8(s, ""), unicode.IsSpace)
		default:
			s = fmt.Sprint(i, ":", s)
		}
		if strings.ContainsAny(s, "{}") && strings.Count(s, "{") != 1 {
			s = strings.NewReplacer("{", "(", "}", ")").Replace(s)
		}
		names = append(names, s)
	}
	return names
}

// Keys are untrusted. Programs get them unchanged; logs contain them escaped.
func TestSecurity32HostileNames(t *testing.T) {
	w := open(t)
	names, locked := hostile(), map[string]bool{}
	for _, name := range names {
		if strings.ContainsFunc(name, unicode.IsControl) || locked[name] {
			t.Fatalf("%q is not a valid key, or occurs twice in the list", name)
		}
		w.lock(w.client.Mutex(name))
		locked[name] = true
	}
	if len(locked) != 500 {
		t.Fatalf("there are %d names, want 500", len(locked))
	}
	t.Run("hostile names are listed unchanged", func(t *testing.T) {
		seen := map[string]bool{}
		for cursor := ""; ; {
			var list admin.Locks
			w.get("/api/v1/locks?limit=1000&cursor=" + url.QueryEscape(cursor)).into(&list)
			for _, l := range list.Locks {
				seen[l.Key] = true
			}
			if cursor = list.Next; cursor == "" {
				break
			}
		}
		for name := range locked {
			if !seen[name] {
				t.Errorf("%q is not listed", name)
			}
		}
	})
	t.Run("each lock is found by its path and released", func(t *testing.T) {
		for i, name := range names {
			path := pathOf("locks", name)
			if name == "." || name == ".." || name == "/" || i%2 == 1 { // clients read the first three as directories
				path = "/api/v1/locks/" + base64.RawURLEncoding.EncodeToString([]byte(name)) + "?encoding=base64url"
			}
			var l admin.LockDetail
			if w.get(path).into(&l); l.Key != name || len(l.Holders) != 1 {
				t.Fatalf("the path of %q returns the lock %+v, want that lock with one holder", name, l)
			}
			if i%10 == 0 {
				head, query, _ := strings.Cut(path, "?")
				w.post(head+"/release?"+query, map[string]any{"reason": string([]rune(name)[:min(100, len([]rune(name)))])}).into(&l)
			}
		}
	})
	t.Run("the audit log and the log contain hostile names escaped", func(t *testing.T) {
		var audit admin.Audit
		w.get("/api/v1/audit?limit=1000").into(&audit)
		if len(audit.Entries) != 50 {
			t.Fatalf("the audit log has %d entries, want 50", len(audit.Entries))
		}
		for _, d := range audit.Entries {
			for _, text := range []string{d.Key, d.Reason} {
				if strings.ContainsFunc(text, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) && !strings.ContainsRune(text, '\ufffd') {
					t.Errorf("%q is recorded unescaped", text)
				}
				if len(text) > 5000 {
					t.Errorf("%d bytes of a name are recorded, want at most 5,000", len(text))
				}
			}
		}
		if log := w.log.String(); strings.ContainsFunc(log, func(r rune) bool { return r != '\n' && unicode.Is(unicode.Cf, r) }) {
			t.Error("the log contains invisible characters")
		}
	})
	t.Run("guards may have hostile names", func(t *testing.T) {
		for _, name := range names[:60] {
			if len(name) > 60 {
				continue
			}
			g, err := guard.New[string](w.client, guard.Policy{Name: name, Scope: guard.Global, OnUnknown: guard.Hold})
			if err != nil {
				t.Fatal(err)
			}
			id := abandonClaim(t, g, "x")
			var list admin.Claims
			w.get("/api/v1/claims?guard=" + url.QueryEscape(name)).into(&list)
			if len(list.Claims) != 1 || list.Claims[0].Guard != name || list.Claims[0].ID != id {
				t.Fatalf("the claims of the guard %q are %+v, want %s only", name, list.Claims, id)
			}
			var c admin.ClaimDetail
			if w.get(pathOf("claims", id)).into(&c); c.ID != id {
				t.Errorf("the path of %q returns the claim %+v, want that claim", id, c)
			}
			_ = g.Close(t.Context())
		}
	})
}
