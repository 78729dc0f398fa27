package admin

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/gateway/config"
)

// auth decides which clients may make which requests. It has no mutex: cfg, keys and
// origin never change, and limits and sessions have their own.
type auth struct {
	cfg      *config.Admin
	keys     []tokenKey
	origin   *http.CrossOriginProtection
	limits   *addressLimits
	sessions *sessions
}

// newAuth reads the tokens once. A changed token file takes effect with the next Server.
func newAuth(cfg *config.Admin) (auth, error) {
	keys, err := readTokens(cfg.Tokens)
	if err != nil {
		return auth{}, err
	}
	return auth{cfg: cfg, keys: keys, origin: http.NewCrossOriginProtection(), limits: newAddressLimits(), sessions: newSessions()}, nil
}

// An actor is the sender of a request.
type actor struct {
	name    string
	role    config.Role // empty if the sender is not authenticated
	address string
	tls     bool
	session string // the value of a valid session cookie
}

// actorKey is the context key of the actor.
type actorKey struct{}

// actorOf returns the sender of the request that ctx belongs to.
func actorOf(ctx context.Context) actor {
	a, _ := ctx.Value(actorKey{}).(actor)
	return a
}

// setSecurityHeaders keeps browsers from rendering, framing, caching or sharing a
// response.
func setSecurityHeaders(h http.Header) {
	// Responses contain keys and holders of other users, which no cache may keep.
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}

// admit returns the request with its sender in the context, or the reason to refuse it.
// Refused changes are recorded in the audit log.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) (*http.Request, *Problem) {
	// The address is that of the connection. X-Forwarded-For does not replace it: any
	// client can send one.
	sender := actor{name: "anonymous", address: address(r), tls: r.TLS != nil}
	p := s.auth.authorize(r, &sender, s.o.Prefix)
	if p != nil {
		// Refused reads change nothing, and would push changes out of the log.
		if !safe(r.Method) {
			s.audit.refuse(AuditEntry{Action: sanitize(r.Method) + " " + sanitize(r.URL.Path), Code: p.Code}, sender)
		}
		return nil, p
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody+1) // huma reports a body above maxBody; this is the backstop
	return r.WithContext(context.WithValue(r.Context(), actorKey{}, sender)), nil
}

// authorize finds the sender of a request, and returns the reason to refuse it, or nil. The
// order is that of cost and trust: host and rate need no secrets, the origin is checked
// before any cookie counts, and roles come last.
func (d *auth) authorize(r *http.Request, sender *actor, prefix string) *Problem {
	if !d.ownHost(r) {
		return problem(HostRefused, "the host %s is not accepted: use the listen address or localhost, or add the host to admin.hosts", sanitize(r.Host))
	}
	if p := d.limits.allow(sender.address); p != nil {
		return p
	}
	// The origin is checked before the cookie: a browser may send the cookie with requests
	// of other sites.
	if err := d.origin.Check(r); err != nil {
		return problem(CrossOrigin, "the request comes from a page of another site: %v", err)
	}
	if p := d.identify(r, sender); p != nil {
		return p
	}
	path := strings.TrimPrefix(r.URL.Path, prefix)
	switch open := path == "/openapi.json" || path == "/api/v1/session" || path == LoginPath; {
	// The document is public, and a browser must reach the session to sign in.
	// beginSession and login check the token. Even a read-only API has sessions.
	case open:
		return nil
	case sender.role == "":
		return problem(Unauthenticated, "a token is required: send Authorization: Bearer …")
	case safe(r.Method):
		return nil
	case d.cfg.ReadOnly:
		return problem(ReadOnly, "the API is configured as read-only")
	case sender.role != config.Operate:
		return problem(Forbidden, "%s has the role view: use a token with the role operate", sanitize(sender.name))
	}
	return nil
}

// ownHost reports whether the Host field names this server. It stops DNS rebinding: a
// page whose own host name resolves to this server would send that name.
func (d *auth) ownHost(r *http.Request) bool {
	host := hostOf(r.Host)
	if host == "localhost" || slices.ContainsFunc(d.cfg.Hosts, func(h string) bool { return hostOf(h) == host }) {
		return true
	}
	if listenHost, _, err := net.SplitHostPort(d.cfg.Listen); err == nil && listenHost != "" && hostOf(listenHost) == host {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	// An IP address cannot be rebound: only a name can resolve to another machine.
	if ip.Unmap().IsLoopback() {
		return true
	}
	// With a listener on all addresses, the address that the client dialed is a valid
	// host, too.
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	localAddr, err := netip.ParseAddrPort(local.String())
	return err == nil && localAddr.Addr().Unmap() == ip.Unmap()
}

// hostOf returns a host without its port, brackets and final dot, in lower case.
func hostOf(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// address returns the client's address, without the port.
func address(r *http.Request) string {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return sanitize(r.RemoteAddr)
	}
	// 127.0.0.1 and ::ffff:127.0.0.1 are one client, and must not count as two.
	return ap.Addr().Unmap().WithZone("").String()
}

// safe reports whether a method changes nothing. TRACE is left out, because no operation
// has it.
func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}
