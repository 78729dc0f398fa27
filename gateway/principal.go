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

// An authenticator finds out who sent a request. It believes what it has verified,
// and nothing else.
type authenticator interface {
	identify(r *http.Request, v *visit) (*identity, error)
	challenge(h http.Header) // says how to be identified, with a 401
}

// An identity is who it is.
type identity struct {
	user   string
	claims map[string]any // of a token that was verified
}

// errKeysAway means that nobody can be identified now: it is not the sender's fault.
var errKeysAway = errors.New("gateway: the keys that tokens are verified with cannot be had")

// unidentified returns the problem of a request of which nobody knows whose it is.
func unidentified(err error) *interlockhttp.Problem {
	code := interlockhttp.UserMissing
	if errors.Is(err, errKeysAway) {
		code = interlockhttp.StoreUnavailable
	}
	p := interlockhttp.NewProblem(code)
	p.Err = err
	return p
}

// authenticator returns who finds out who somebody is; nil if nobody does.
func (b *builder) authenticator(p config.Principal) (authenticator, error) {
	switch {
	case p.MTLS:
		return byCertificate{}, nil
	case p.Header != "":
		return byHeader(http.CanonicalHeaderKey(p.Header)), nil
	case p.JWT != nil:
		return b.verifier(p.JWT)
	}
	return nil, nil //nolint:nilnil // there is nobody, which is no mistake
}

// named returns the identity of a name, if it can be one.
func named(name string) (*identity, error) {
	const most = 1024 // bytes, as a guard takes them
	if name == "" || len(name) > most || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return nil, fmt.Errorf("gateway: %.40q is no name of somebody", name)
	}
	return &identity{user: name}, nil
}

// byHeader believes a field that a trusted proxy has set.
type byHeader string

func (b byHeader) identify(r *http.Request, v *visit) (*identity, error) {
	values := r.Header[string(b)]
	switch {
	case !v.trusted:
		return nil, fmt.Errorf("gateway: %s is believed only from trusted-proxies, and %s is none", string(b), r.RemoteAddr)
	case len(values) != 1:
		return nil, fmt.Errorf("gateway: %s is there %d times", string(b), len(values))
	}
	return named(values[0])
}

func (byHeader) challenge(http.Header) {}

// byCertificate believes a certificate that the server has verified.
type byCertificate struct{}

func (byCertificate) identify(r *http.Request, _ *visit) (*identity, error) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 || len(r.TLS.PeerCertificates) == 0 {
		return nil, errors.New("gateway: the client has shown no certificate that was verified")
	}
	// All of the subject, in its order: package pkix has only the last of several names.
	var subject pkix.RDNSequence
	if _, err := asn1.Unmarshal(r.TLS.PeerCertificates[0].RawSubject, &subject); err != nil {
		return nil, fmt.Errorf("gateway: the subject of the client's certificate cannot be read: %w", err)
	}
	return named(subject.String())
}

func (byCertificate) challenge(http.Header) {}
