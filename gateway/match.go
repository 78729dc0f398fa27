package gateway

import (
	"cmp"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/rule"
)

// A matcher tells which requests a rule is about.
type matcher struct {
	config.Match
	path     *pattern
	host     string // in lower case
	name     string // the rule, as http.ServeMux would call it
	changing bool   // if no method is named, it is not about those that change nothing
}

func newMatcher(m config.Match, verb rule.Verb) (*matcher, error) {
	p, err := parsePattern(cmp.Or(m.Path, "/"))
	if err != nil {
		return nil, err
	}
	host := bareHost(m.Host)
	return &matcher{Match: m, path: p, host: host, name: host + p.text, changing: verb != rule.Lock}, nil
}

// bareHost returns a host without its port, as two spellings of it are compared.
func bareHost(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// A view is how a request may be read.
type view struct {
	methods  []string
	host     string
	header   http.Header
	segments []string
	same     func(a, b string) bool // of a part of the path
}

func exactly(a, b string) bool { return a == b }

// matches tells whether a request, read so, is one that the rule is about.
func (m *matcher) matches(v *view) bool {
	return m.onMethod(v.methods) && m.onHost(v.host) && m.path.match(v.segments, v.same) && m.onHeader(v.header)
}

func (m *matcher) onMethod(methods []string) bool {
	return slices.ContainsFunc(methods, func(name string) bool {
		if len(m.Methods) == 0 {
			return !m.changing || !safe(name)
		}
		return slices.Contains(m.Methods, name)
	})
}

// safe tells whether a method changes nothing.
func safe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

func (m *matcher) onHost(host string) bool {
	if parent, wild := strings.CutPrefix(m.host, "*"); wild {
		return strings.HasSuffix(host, parent) && len(host) > len(parent)
	}
	return m.host == "" || m.host == host
}

func (m *matcher) onHeader(h http.Header) bool {
	for name, want := range m.Header {
		values := h.Values(name)
		if len(values) == 0 || want != "*" && !slices.Contains(values, want) {
			return false
		}
	}
	return true
}

// overrides are fields in which clients tell some services another method.
var overrides = []string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"}

// methodsOf returns the methods that a request may be taken to have, besides its own.
func methodsOf(r *http.Request) []string {
	methods := []string{r.Method, strings.ToUpper(r.Method)}
	for _, name := range overrides {
		for _, value := range r.Header[name] {
			methods = append(methods, strings.ToUpper(strings.TrimSpace(value)))
		}
	}
	return methods
}
