package torture

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// The server stores no key, user, token or payload in plain text (trap 6).
func TestTrapNamesOnTheServer(t *testing.T) {
	f := newFixture(t)
	tokens, err := guard.NewTokens(1<<40, make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	token := tokens.Issue("telltale-user", "order")
	user := interlockhttp.User(func(r *http.Request) string { return r.Header.Get("X-User") })
	policy := guard.Policy{Name: "orders", OnUnknown: guard.Hold}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("Idempotency-Key"), "fails") {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	for _, c := range []struct {
		opts       []interlockhttp.Option
		field, key string
		status     int
	}{
		{[]interlockhttp.Option{user}, "Idempotency-Key", "telltale-key", http.StatusOK},
		{[]interlockhttp.Option{user}, "Idempotency-Key", "telltale-key-fails", http.StatusInternalServerError},
		{[]interlockhttp.Option{user, interlockhttp.WithTokens(tokens, "order")}, "Idempotent-Token", token, http.StatusOK},
	} {
		once := interlockhttp.Must(interlockhttp.Once(f.client, policy, c.opts...))
		r := httptest.NewRequest(http.MethodPost, "/orders?q=telltale-query", strings.NewReader("telltale-body"))
		r.Header.Set("X-User", "telltale-user")
		r.Header.Set(c.field, c.key)
		w := httptest.NewRecorder()
		once.Wrap(handler).ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("got %d %s, want %d", w.Code, w.Body, c.status)
		}
		if err := once.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	names := strings.Fields(f.server.Must("KEYS", "*guard*"))
	if len(names) < 3 {
		t.Fatalf("the server has the keys %q, want at least three", names)
	}
	for _, name := range names {
		if text := name + " " + f.server.Must("GET", name); strings.Contains(text, "telltale") || strings.Contains(text, token) {
			t.Errorf("the server stores plain text: %q", text)
		}
	}
}
