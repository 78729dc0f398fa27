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

// A door decides who is let in, and for what.
type auth struct {
	cfg      *config.Admin
	keys     []tokenKey
	origin   *http.CrossOriginProtection
	limits   *addressLimits
	sessions *sessions
}

func newAuth(cfg *config.Admin) (auth, error) {
	keys, err := readTokens(cfg.Tokens)
	if err != nil {
		return auth{}, err
	}
	return auth{cfg: cfg, keys: keys, origin: http.NewCrossOriginProtection(), limits: newAddressLimits(), sessions: newSessions()}, nil
}

// An actor is who makes a request.
type actor struct {
	name    string
	role    config.Role // empty if nobody knows who it is
	address string
	tls     bool
	session string // the cookie, if it came with one that is good
}

type actorKey struct{}

// actorOf returns who makes the request that ctx belongs to.
func actorOf(ctx context.Context) actor {
	a, _ := ctx.Value(actorKey{}).(actor)
	return a
}

// harden makes browsers do nothing with an answer but give it to who asked.
func setSecurityHeaders(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}

// admit lets a request in, with who makes it in its context, or says why not. That
// somebody was not let make a change is written down.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) (*http.Request, *Problem) {
	by := actor{name: "nobody", address: address(r), tls: r.TLS != nil}
	p := s.auth.authorize(r, &by, s.o.Prefix)
	if p != nil {
		if !safe(r.Method) {
			s.audit.refuse(AuditEntry{Action: sanitize(r.Method) + " " + sanitize(r.URL.Path), Code: p.Code}, by)
		}
		return nil, p
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody+1) // huma says so at maxBody
	return r.WithContext(context.WithValue(r.Context(), actorKey{}, by)), nil
}

// ask finds out who makes a request, and why it is not let in, if it is not.
func (d *auth) authorize(r *http.Request, by *actor, prefix string) *Problem {
	if !d.ownHost(r) {
		return problem(HostRefused, "this is not %s: call it by its address or by localhost, or name the host in admin.hosts", sanitize(r.Host))
	}
	if p := d.limits.allow(by.address); p != nil {
		return p
	}
	if err := d.origin.Check(r); err != nil {
		return problem(CrossOrigin, "another site's page made this request: %v", err)
	}
	if p := d.identify(r, by); p != nil {
		return p
	}
	path := strings.TrimPrefix(r.URL.Path, prefix)
	switch open := path == "/openapi.json" || path == "/api/v1/session"; {
	case open:
		return nil
	case by.role == "":
		return problem(Unauthenticated, "show a token: Authorization: Bearer …")
	case safe(r.Method):
		return nil
	case d.cfg.ReadOnly:
		return problem(ReadOnly, "nothing can be changed here: it is configured so")
	case by.role != config.Operate:
		return problem(Forbidden, "%s may look, and not change: use a token with the role operate", sanitize(by.name))
	}
	return nil
}

// calledRight tells whether it was called by a name of its own. A page of somebody
// else's whose name leads here, for an hour, would call it by that.
func (d *auth) ownHost(r *http.Request) bool {
	host := hostOf(r.Host)
	if host == "localhost" || slices.ContainsFunc(d.cfg.Hosts, func(h string) bool { return hostOf(h) == host }) {
		return true
	}
	if own, _, err := net.SplitHostPort(d.cfg.Listen); err == nil && own != "" && hostOf(own) == host {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	if ip.Unmap().IsLoopback() {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	own, err := netip.ParseAddrPort(local.String())
	return err == nil && own.Addr().Unmap() == ip.Unmap()
}

// hostOf returns a host without its port, brackets and final dot, in lower case.
func hostOf(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// address returns where a request comes from, without the port.
func address(r *http.Request) string {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return sanitize(r.RemoteAddr)
	}
	return ap.Addr().Unmap().WithZone("").String()
}

// safe tells whether a method changes nothing.
func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}
