package gateway

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/rule"
)

// A layer is a rule at work: what it guards goes through it.
type layer struct {
	config.Rule
	*matcher
	who       authenticator
	fields    []string // of the request, that its sender must not ask proxies to remove
	usesQuery bool
	usesPath  bool // its key is in it
	slashed   bool // another rule is about the path with, or without, the slash at its end
	backend   *backend
	shield    *shield
	handler   http.Handler // with the backend behind it, for the usual case of one rule
}

// keeps tells whether the rule keeps answers and sends them when they are stored.
func (l *layer) keeps() bool { return l.Do.Verb == rule.Once && !l.Tee && !l.Shadow }

// guard returns next, guarded.
func (l *layer) guard(next http.Handler) http.Handler {
	wrapped := l.shield.wrap(l.work(next))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := visitOf(r.Context())
		outer := v.step
		v.step = &step{layer: l, began: time.Now()}
		defer func() {
			v.tell(w.Header())
			v.step = outer
		}()
		r.Pattern = cmp.Or(r.Method, "GET") + " " + l.nameAt(r.Host)
		l.path.values(v.segments, r.SetPathValue)
		if p := l.admit(w, r, v); p != nil {
			v.refuse(w, r, p)
			return
		}
		wrapped.ServeHTTP(w, r)
	})
}

// work returns next as what the guard lets happen.
func (l *layer) work(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := visitOf(r.Context())
		s := v.step
		s.ran = time.Now()
		if fence := l.fence(r.Context()); fence != 0 {
			v.fence = fence
		}
		v.run(next, w, r)
		if v.fate != undecided {
			interlockhttp.Settle(r.Context(), v.fate)
		}
	})
}

// run has what is inside answer. A proxy panics if the answer cannot be passed on,
// which ends a request of which nobody knows what became. But if it is the client who
// has left, the service has answered, and its status tells.
func (v *visit) run(next http.Handler, w http.ResponseWriter, r *http.Request) {
	defer func() {
		if !v.answered || v.fate != undecided {
			return
		}
		if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // a panic is compared as it is
			panic(p)
		}
	}()
	next.ServeHTTP(w, r)
}

// admit tells why a request is not even looked at, or nil.
func (l *layer) admit(w http.ResponseWriter, r *http.Request, v *visit) *interlockhttp.Problem {
	if l.Do.Verb != rule.Lock && len(l.Methods) == 0 && !slices.Contains(changing, r.Method) {
		return ambiguous("what the method %.20q does is not known", r.Method)
	}
	if r.Header["Upgrade"] != nil && !l.Shadow {
		return interlockhttp.NewProblem(interlockhttp.UpgradeRefused)
	}
	return l.identify(w, r, v)
}

// identify finds out who sends a request, or tells why nobody knows.
func (l *layer) identify(w http.ResponseWriter, r *http.Request, v *visit) *interlockhttp.Problem {
	if name := removed(r.Header, l.fields); name != "" {
		return ambiguous("the field Connection says to remove %s", name)
	}
	if l.who == nil {
		return nil
	}
	id, err := l.who.identify(r, v)
	if err != nil && !l.Shadow {
		l.who.challenge(w.Header())
		return unidentified(err)
	}
	v.step.id = id
	return nil
}

// userOf returns who sent a request, as authentication found out.
func userOf(r *http.Request) string {
	if id := visitOf(r.Context()).step.id; id != nil {
		return id.user
	}
	return ""
}

// removed returns which of the fields a request asks proxies to remove, if any.
func removed(h http.Header, fields []string) string {
	for _, value := range h["Connection"] {
		for option := range strings.SplitSeq(value, ",") {
			name := http.CanonicalHeaderKey(strings.TrimSpace(option))
			if slices.Contains(fields, name) || strings.HasPrefix(name, "Interlock-") {
				return name
			}
		}
	}
	return ""
}
