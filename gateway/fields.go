package gateway

import (
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/rule"
)

// fenceField tells the service behind the fence of the lock or claim, so that it can
// refuse a request whose lock was lost on the way.
const fenceField = "Interlock-Fence"

// rewrite makes of a request that came one that goes on.
func (b *backend) rewrite(p *httputil.ProxyRequest) {
	v := visitOf(p.In.Context())
	p.SetURL(v.wire.target.url)
	if v.wire.target.url.RawQuery == "" && !v.usesQuery() {
		p.Out.URL.RawQuery = p.In.URL.RawQuery // as it came; nobody here goes by it
	}
	p.Out.Host = p.In.Host
	if b.HostHeader != "" {
		p.Out.Host = b.HostHeader
	}
	h := p.Out.Header
	v.strip(h)
	v.forward(p)
	h["Via"] = append(h["Via"], v.gateway.via(p.In))
	if v.fence != 0 {
		h.Set(fenceField, strconv.FormatUint(v.fence, 10))
	}
	if len(v.chain) > 0 {
		h.Del("Expect") // the body is here already
	} else if u := h.Get("Upgrade"); u != "" && !strings.EqualFold(u, "websocket") {
		h.Del("Upgrade") // h2c on a connection that is reused would pass by all rules
		h.Del("Connection")
		h.Del("Http2-Settings")
	}
	sendOnce(p.Out)
}

// ofProxies are fields that proxies set, besides X-Forwarded-*. By some of them services
// go rather than by the path, and so past the rules.
var ofProxies = []string{"X-Real-Ip", "Forwarded", "X-Original-Url", "X-Original-Uri", "X-Original-Host", "X-Rewrite-Url"}

// strip removes what only we, or a proxy that is believed, may say. Many services read
// X_User as X-User, so that both count.
func (v *visit) strip(h http.Header) {
	maps.DeleteFunc(h, func(name string, _ []string) bool {
		switch plain := dashed(name); {
		case strings.HasPrefix(plain, "Interlock-"):
			return true
		case plain != name && v.matters(plain):
			return true
		case v.plan.stripped[plain], slices.Contains(ofProxies, plain), strings.HasPrefix(plain, "X-Forwarded-"):
			return !v.trusted || plain != name
		}
		return false
	})
}

// matters tells whether a rule goes by a field.
func (v *visit) matters(name string) bool {
	return slices.ContainsFunc(v.chain, func(l *layer) bool { return slices.Contains(l.fields, name) })
}

// forward says whose request it is. What a proxy says that is believed is kept.
func (v *visit) forward(p *httputil.ProxyRequest) {
	if v.trusted {
		for _, name := range []string{"X-Forwarded-For", "Forwarded"} {
			if values, ok := p.In.Header[name]; ok {
				p.Out.Header[name] = values
			}
		}
	}
	p.SetXForwarded()
	if v.trusted {
		for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Proto"} {
			if values, ok := p.In.Header[name]; ok {
				p.Out.Header[name] = values
			}
		}
	}
}

// fieldsOf returns the fields that a rule goes by, and whether it goes by the query.
func fieldsOf(r *config.Rule, p config.Principal) (fields []string, query bool) {
	fields = []string{"Idempotency-Key", "X-Idempotency-Key", "Idempotent-Token", "Authorization", "Cookie", "Host", "Content-Type", "Content-Encoding"}
	add := func(name string) { fields = append(fields, http.CanonicalHeaderKey(name)) }
	if p.Header != "" {
		add(p.Header)
	}
	for name := range r.Match.Header {
		add(name)
	}
	if r.Key == nil {
		return fields, true // the whole request is its key
	}
	for _, part := range r.Key.Parts() {
		if part.Place == rule.Header {
			add(part.Name)
		}
		query = query || part.Place == rule.Query
	}
	return fields, query
}

func (v *visit) usesQuery() bool {
	return slices.ContainsFunc(v.chain, func(l *layer) bool { return l.usesQuery })
}

// keeps tells whether the answer is to be stored before it is sent.
func (v *visit) keeps() bool { return slices.ContainsFunc(v.chain, (*layer).keeps) }

// trusts tells whether a request comes from a proxy that is believed.
func trusts(prefixes []netip.Prefix, remote string) bool {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	ip = ip.Unmap().WithZone("")
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(ip) })
}
