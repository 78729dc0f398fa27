package interlockhttp

import (
	"encoding/json"
	"net/http"

	"github.com/interlock-go/interlock/guard"
)

// TokenHandler issues tokens for form to the user that user returns. GET returns
//
//	{"token": "…", "expires_in": 300, "header": "Idempotent-Token"}
//
// The client sends the token with the form, and a middleware with [WithTokens] accepts it
// once. TokenHandler panics if t or user is nil, or if an option is invalid.
func TokenHandler(t *guard.Tokens, form string, user func(*http.Request) string, opts ...Option) http.Handler {
	s := newSettings(opts)
	switch {
	case t == nil:
		s.reject("TokenHandler: the tokens are nil: make them with guard.NewTokens")
	case user == nil:
		s.reject("TokenHandler: a token belongs to a user: pass a function that returns the user")
	}
	if err := s.err(); err != nil {
		panic(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["Cache-Control"] = noStore
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		name := user(r)
		if name == "" {
			s.sendProblem(w, r, newProblem(UserMissing))
			return
		}
		text, err := json.Marshal(struct {
			Token   string `json:"token"`
			Expires int64  `json:"expires_in"`
			Header  string `json:"header"`
		}{t.Issue(name, form), int64(t.Life().Seconds()), "Idempotent-Token"})
		if err != nil {
			panic(err) // two strings and a number always encode
		}
		h.Set("Content-Type", "application/json")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Length", lengthOf(text))
		_, _ = w.Write(text)
	})
}
