package gateway

import (
	"maps"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// fenceField carries the fence of the lock or claim to the upstream. With it, the upstream
// can refuse a request whose lock was lost on the way.
const fenceField = "Interlock-Fence"

// rewrite turns the client's request into the one that is sent to the upstream.
func (b *backend) rewrite(p *httputil.ProxyRequest) {
	t := roundTripOf(p.In.Context())
	x := t.exchange
	p.SetURL(t.target.url)
	// ReverseProxy has dropped the parameters that it cannot parse, so that a rule and the
	// upstream read the same query. If no rule reads the query, it passes byte for byte.
	if t.target.url.RawQuery == "" && !x.usesQuery() {
		p.Out.URL.RawQuery = p.In.URL.RawQuery
	}
	// ReverseProxy would send the host of the target's URL, and virtual hosts would break.
	p.Out.Host = p.In.Host
	if b.HostHeader != "" {
		p.Out.Host = b.HostHeader
	}
	h := p.Out.Header
	x.strip(h)
	if b.foreign {
		x.keepForwarded(p)
	} else {
		x.setForwarded(p)
	}
	if !b.foreign || len(x.rules) > 0 {
		h["Via"] = append(h["Via"], x.gateway.via(p.In))
	}
	if fence := t.result.innermost.currentFence(); fence != 0 {
		h.Set(fenceField, strconv.FormatUint(fence, 10))
	}
	if len(x.rules) > 0 {
		h.Del("Expect") // the middleware has read the body already
	} else if u := h.Get("Upgrade"); u != "" && !strings.EqualFold(u, "websocket") {
		h.Del("Upgrade") // after an upgrade to h2c, further requests would bypass all rules
		h.Del("Connection")
		h.Del("Http2-Settings")
	}
	if sending := x.gateway.options.Sending; sending != nil {
		sending(p.Out)
	}
	sendOnce(p.Out)
}

// proxyFields are fields that proxies set, besides X-Forwarded-*. Some upstreams route by
// these fields instead of the path, so a client could use them to bypass the rules.
var proxyFields = []string{
	"X-Real-Ip", "Forwarded", "X-Original-Url", "X-Original-Uri", "X-Original-Host", "X-Original-Path", "X-Original-Method",
	"X-Rewrite-Url", "X-Rewrite-Uri", "X-Envoy-Original-Path",
}

// pathFields are fields that some servers read instead of the path. By default, gunicorn
// reads SCRIPT_NAME and PATH_INFO; many WSGI programs read X-Script-Name.
var pathFields = []string{
	"Script-Name", "Path-Info", "X-Script-Name", "X-Path-Info", "X-Script-Url", "Path-Translated", "Request-Uri", "X-Request-Uri",
	"Raw-Uri", "Document-Uri", "Script-Url", "Script-Uri", "Script-Filename", "Query-String", "Request-Method", "Redirect-Url",
}

// strip removes the fields that only the gateway, or a trusted proxy, may set. Many
// upstreams read X_User or X.User as X-User, so those spellings are removed, too.
func (x *exchange) strip(h http.Header) {
	maps.DeleteFunc(h, func(name string, _ []string) bool {
		switch plain := dashed(name); {
		// Not even a trusted proxy may set these. With a forged fence, the upstream would
		// accept a request whose lock was lost.
		case strings.HasPrefix(plain, "Interlock-"):
			return true
		// The rule has read X-User. An upstream that also reads X_User could see another
		// value.
		case plain != name && x.usesField(plain):
			return true
		// Trusted proxies spell these fields with underscores, so any spelling is accepted
		// from them.
		case slices.Contains(pathFields, plain):
			return !x.trusted
		case x.snapshot.stripped[plain], slices.Contains(proxyFields, plain), strings.HasPrefix(plain, "X-Forwarded-"):
			return !x.trusted || plain != name
		}
		return false
	})
}

// setForwarded sets X-Forwarded-*. It appends to the X-Forwarded-For of a trusted proxy,
// and keeps the host and protocol that the proxy sent.
func (x *exchange) setForwarded(p *httputil.ProxyRequest) {
	keep := func(names ...string) {
		for _, name := range names {
			if values, ok := p.In.Header[name]; ok && x.trusted {
				p.Out.Header[name] = values
			}
		}
	}
	// SetXForwarded appends to X-Forwarded-For, and overwrites the host and the protocol.
	// So X-Forwarded-For is restored before the call, and the host and the protocol after it.
	keep("X-Forwarded-For", "Forwarded")
	p.SetXForwarded()
	keep("X-Forwarded-Host", "X-Forwarded-Proto")
}

// keepForwarded restores the fields that another proxy has set: all of them if it is trusted,
// and otherwise those that Envoy sets by itself.
func (x *exchange) keepForwarded(p *httputil.ProxyRequest) {
	for name, values := range p.In.Header {
		switch name {
		case "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Client-Cert":
			p.Out.Header[name] = values
		case "Forwarded", "X-Forwarded-Host":
			if x.trusted {
				p.Out.Header[name] = values
			}
		}
	}
}

// usesField reports whether a rule of the request reads a field.
func (x *exchange) usesField(name string) bool {
	return slices.ContainsFunc(x.rules, func(h *ruleHandler) bool { return slices.Contains(h.fields, name) })
}

// usesQuery reports whether a rule of the request reads the query.
func (x *exchange) usesQuery() bool {
	return slices.ContainsFunc(x.rules, func(h *ruleHandler) bool { return h.usesQuery })
}

// keeps reports whether the response is stored before it is sent.
func (x *exchange) keeps() bool { return slices.ContainsFunc(x.rules, (*ruleHandler).keeps) }

// isTrusted reports whether a connection comes from one of the trusted networks.
func isTrusted(prefixes []netip.Prefix, remote string) bool {
	peer, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	// A dual-stack listener reports 10.0.0.1 as ::ffff:10.0.0.1, which no IPv4 prefix
	// contains.
	ip := peer.Addr().Unmap().WithZone("")
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(ip) })
}
