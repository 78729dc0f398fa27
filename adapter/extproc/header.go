package interlockextproc

import (
	"net/http"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// unchanged are fields that Envoy sets for each connection, or removes itself.
var unchanged = map[string]bool{
	"connection": true, "content-length": true, "host": true, "http2-settings": true, "keep-alive": true,
	"proxy-connection": true, "te": true, "trailer": true, "transfer-encoding": true, "upgrade": true,
}

// outcomeField states the outcome of a response for package interlockhttp. Clients do not
// get it.
const outcomeField = "Interlock-Outcome"

// change returns the mutation that turns one header into another; nil if they are equal.
func change(from, to http.Header) *extprocv3.HeaderMutation {
	before, after := lowered(from), lowered(to)
	m := &extprocv3.HeaderMutation{}
	for name := range before {
		if _, kept := after[name]; !kept {
			m.RemoveHeaders = append(m.RemoveHeaders, name)
		}
	}
	for name, values := range after {
		if !slices.Equal(before[name], values) {
			m.SetHeaders = append(m.SetHeaders, set(name, values)...)
		}
	}
	if len(m.RemoveHeaders) == 0 && len(m.SetHeaders) == 0 {
		return nil
	}
	return m
}

// set returns the mutation that sets the values of a field.
func set(name string, values []string) (all []*corev3.HeaderValueOption) {
	for i, value := range values {
		all = append(all, &corev3.HeaderValueOption{
			Header: &corev3.HeaderValue{Key: name, RawValue: []byte(value)},
			Append: wrapperspb.Bool(i > 0), //nolint:staticcheck // append_action cannot state APPEND_IF_EXISTS_OR_ADD, which is its zero value
		})
	}
	return all
}

// lowered returns the fields that Envoy may change, with names in lower case as Envoy has
// them. It leaves out fields that Envoy would refuse together with the whole message.
func lowered(h http.Header) map[string][]string {
	all := make(map[string][]string, len(h))
	for name, values := range h {
		if name = strings.ToLower(name); !isToken(name) || unchanged[name] {
			continue
		}
		for _, value := range values {
			all[name] = append(all[name], clean(value))
		}
	}
	// httputil.ReverseProxy sets an empty field so that net/http does not add its own.
	if agent := all["user-agent"]; len(agent) == 1 && agent[0] == "" {
		delete(all, "user-agent")
	}
	return all
}

// isToken reports whether a name is valid in HTTP.
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}

// clean replaces control characters by spaces, as net/http does with line ends.
func clean(value string) string {
	control := func(c byte) bool { return c < ' ' && c != '\t' || c == 0x7f }
	b := []byte(value)
	if !slices.ContainsFunc(b, control) {
		return strings.TrimSpace(value)
	}
	for i, c := range b {
		if control(c) {
			b[i] = ' '
		}
	}
	return strings.TrimSpace(string(b))
}
