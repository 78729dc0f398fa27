package gateway

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/interlock-go/interlock/gateway/config"
)

// jwtAuth authenticates requests by a JSON Web Token in the Authorization field.
type jwtAuth struct {
	config.JWT
	algs []jose.SignatureAlgorithm
	keys *keySet
}

const (
	// leeway is the tolerated difference between our clock and the issuer's.
	leeway = 30 * time.Second

	// maxToken is the length of the longest token, in bytes: clients without a valid
	// one must not make us verify megabytes.
	maxToken = 8 << 10
)

// defaultAlgs are the algorithms accepted by default. None uses a shared secret, so that
// a service which can verify a token cannot make one.
var defaultAlgs = []string{"RS256", "ES256", "EdDSA"}

// newJWTAuth returns the authenticator of a JWT principal.
func (b *builder) newJWTAuth(j *config.JWT) (authenticator, error) {
	a := &jwtAuth{JWT: *j}
	names := j.Algs
	if len(names) == 0 {
		names = defaultAlgs
	}
	for _, name := range names {
		if !slices.Contains(knownAlgs, jose.SignatureAlgorithm(name)) {
			return nil, fmt.Errorf("gateway: jwt: unknown algorithm %q: choose from %v", name, knownAlgs)
		}
		a.algs = append(a.algs, jose.SignatureAlgorithm(name))
	}
	a.Claim = cmp.Or(a.Claim, "sub")
	var err error
	switch {
	case j.JWKS != "":
		a.algs = slices.DeleteFunc(a.algs, symmetric) // a published key must not pass for a shared secret
		a.keys, err = b.newKeySet(j.JWKS)
	case j.KeyFile != "":
		a.keys, err = readKey(j.KeyFile, &a.algs)
	default:
		err = errors.New("gateway: jwt: no verification key: add key-file or jwks")
	}
	if err == nil && len(a.algs) == 0 {
		err = fmt.Errorf("gateway: jwt: none of the algorithms %v fits the key", names)
	}
	return a, err
}

// newKeySet returns the keys of a file or URL. A reload loads them again, because that is
// how an operator withdraws a key.
func (b *builder) newKeySet(from string) (*keySet, error) {
	// The reuse key of a file includes its hash, so that a changed file is loaded anew. A URL
	// keeps its key set, which is refreshed below.
	key := from
	if text, err := os.ReadFile(from); err == nil {
		key = fmt.Sprintf("%s %x", from, sha256.Sum256(text))
	}
	k, err := reuse(b.resources.keySets, b.before.keySets, key, func() (*keySet, error) { return newKeySet(from, b.log) })
	if err == nil && k.remote() {
		k.refresh()
	}
	return k, err
}

// knownAlgs are the algorithms that a file may name. "none" is not among them.
var knownAlgs = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA, jose.HS256, jose.HS384, jose.HS512,
}

// symmetric reports whether an algorithm signs and verifies with the same secret.
func symmetric(a jose.SignatureAlgorithm) bool { return strings.HasPrefix(string(a), "HS") }

// challenge names the scheme, as RFC 9110 requires of a 401.
func (*jwtAuth) challenge(h http.Header) { h.Set("WWW-Authenticate", "Bearer") }

// identify trusts a claim only if a configured key has signed the token, and its times,
// issuer and audience are valid. It ignores whether a trusted proxy sent the request: the
// signature authenticates the sender.
func (a *jwtAuth) identify(r *http.Request, _ bool) (*identity, error) {
	raw, err := bearer(r.Header["Authorization"])
	if err != nil {
		return nil, err
	}
	token, err := jwt.ParseSigned(raw, a.algs)
	if err != nil {
		return nil, err
	}
	// ParseSigned accepts the listed algorithms only, so a token cannot choose a weaker one.
	keys, err := a.keys.find(r.Context(), token.Headers[0].KeyID)
	if err != nil {
		return nil, err
	}
	var (
		standard jwt.Claims
		claims   map[string]any
	)
	err = errors.New("gateway: there is no key to verify the token with")
	// A token without a key id may be signed with any of the keys.
	for _, key := range keys {
		if err = token.Claims(key, &standard, (*exactClaims)(&claims)); err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	if err := a.check(&standard); err != nil {
		return nil, err
	}
	id, err := newIdentity((&identity{claims: claims}).claim(a.Claim))
	if err != nil {
		return nil, err
	}
	id.claims = claims
	return id, nil
}

// check checks issuer, audience and times of a token. A token without exp is refused: it
// would stay valid for ever.
func (a *jwtAuth) check(c *jwt.Claims) error {
	if c.Expiry == nil {
		return errors.New("gateway: the token has no exp claim")
	}
	want := jwt.Expected{Issuer: a.Issuer, Time: time.Now()}
	if a.Audience != "" {
		want.AnyAudience = jwt.Audience{a.Audience}
	}
	return c.ValidateWithLeeway(want, leeway)
}

// bearer returns the token of a request.
func bearer(values []string) (string, error) {
	// With two fields, the gateway and the upstream could authenticate different users.
	if len(values) != 1 {
		return "", fmt.Errorf("gateway: the request has %d Authorization fields, want 1", len(values))
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxToken {
		return "", fmt.Errorf("gateway: Authorization is not a bearer token of up to %d bytes", maxToken)
	}
	return token, nil
}

// exactClaims are claims with their numbers as written: a float64 would round a user id.
type exactClaims map[string]any

// UnmarshalJSON implements json.Unmarshaler.
func (c *exactClaims) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	return d.Decode((*map[string]any)(c))
}
