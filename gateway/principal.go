package gateway

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/interlockhttp"
)

// An authenticator finds the sender of a request, from verified data only.
type authenticator interface {
	// identify returns the sender; trusted is set if a trusted proxy sent the request.
	identify(r *http.Request, trusted bool) (*identity, error)
	// challenge adds the header fields of a 401 that say how to authenticate.
	challenge(h http.Header)
}

// An identity is an authenticated sender.
type identity struct {
	user   string
	claims map[string]any // the claims of the verified token, if the principal is a JWT
}

// errKeysUnavailable means that no token can be verified now. The sender is not to blame.
var errKeysUnavailable = errors.New("gateway: the keys that verify tokens could not be loaded")

// unidentified returns the problem of a request whose sender could not be authenticated.
func unidentified(err error) *interlockhttp.Problem {
	code := interlockhttp.UserMissing
	if errors.Is(err, errKeysUnavailable) {
		code = interlockhttp.StoreUnavailable
	}
	p := interlockhttp.NewProblem(code)
	p.Err = err
	return p
}

// newAuthenticator returns the authenticator of a principal; nil for none.
func (b *builder) newAuthenticator(p config.Principal) (authenticator, error) {
	switch {
	case p.MTLS:
		return certificateAuth{}, nil
	case p.Header != "":
		return headerAuth(http.CanonicalHeaderKey(p.Header)), nil
	case p.JWT != nil:
		return b.newJWTAuth(p.JWT)
	}
	return nil, nil //nolint:nilnil // a rule without a principal is valid
}

// newIdentity returns the identity of a user name.
func newIdentity(user string) (*identity, error) {
	const maxUser = 1024 // bytes; a guard accepts no more
	if user == "" || len(user) > maxUser || !utf8.ValidString(user) || strings.ContainsFunc(user, unicode.IsControl) {
		return nil, fmt.Errorf("gateway: %.40q is not a user name: it needs 1 to %d bytes of UTF-8 without control characters", user, maxUser)
	}
	return &identity{user: user}, nil
}

// headerAuth is a header field that a trusted proxy sets.
type headerAuth string

// identify accepts the field from a trusted proxy only. The gateway removes it from
// requests of all other senders; see strip.
func (a headerAuth) identify(r *http.Request, trusted bool) (*identity, error) {
	// Several values would let a client add one of its own before or after the proxy's.
	values := r.Header[string(a)]
	switch {
	case !trusted:
		return nil, fmt.Errorf("gateway: only trusted-proxies may send %s, and %s is not one", string(a), r.RemoteAddr)
	case len(values) != 1:
		return nil, fmt.Errorf("gateway: the request has %d %s fields, want 1", len(values), string(a))
	}
	return newIdentity(values[0])
}

// challenge adds nothing: the proxy, not the client, sets the field.
func (headerAuth) challenge(http.Header) {}

// certificateAuth is a client certificate that the TLS server has verified.
type certificateAuth struct{}

// identify needs a verified chain: PeerCertificates alone is what the client claims.
func (certificateAuth) identify(r *http.Request, _ bool) (*identity, error) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 || len(r.TLS.PeerCertificates) == 0 {
		return nil, errors.New("gateway: the client has no verified certificate")
	}
	// The user is the whole subject, in its own order. pkix.Name keeps only the last of
	// several names, so two subjects could become one user.
	var subject pkix.RDNSequence
	if _, err := asn1.Unmarshal(r.TLS.PeerCertificates[0].RawSubject, &subject); err != nil {
		return nil, fmt.Errorf("gateway: the subject of the client certificate: %w", err)
	}
	return newIdentity(subject.String())
}

// challenge adds nothing: a certificate belongs to the TLS handshake, which is over.
func (certificateAuth) challenge(http.Header) {}
