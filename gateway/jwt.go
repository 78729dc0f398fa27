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

// byToken believes a JSON web token that it has verified.
type byToken struct {
	config.JWT
	algs []jose.SignatureAlgorithm
	keys *keySet
}

const (
	// leeway is how far the clocks of who issues tokens and of ours may be apart.
	leeway = 30 * time.Second

	// mostToken is how long a token may be, in bytes: verifying costs time.
	mostToken = 8 << 10
)

// defaultAlgs are the algorithms that are accepted unless the file says otherwise.
// None of them uses a shared secret.
var defaultAlgs = []string{"RS256", "ES256", "EdDSA"}

// verifier returns what verifies tokens.
func (b *builder) verifier(j *config.JWT) (authenticator, error) {
	v := &byToken{JWT: *j}
	names := j.Algs
	if len(names) == 0 {
		names = defaultAlgs
	}
	for _, name := range names {
		if !slices.Contains(known, jose.SignatureAlgorithm(name)) {
			return nil, fmt.Errorf("gateway: the algorithm %q is not known: choose of %v", name, known)
		}
		v.algs = append(v.algs, jose.SignatureAlgorithm(name))
	}
	v.Claim = cmp.Or(v.Claim, "sub")
	var err error
	switch {
	case j.JWKS != "":
		v.algs = slices.DeleteFunc(v.algs, symmetric) // who publishes its keys shares no secret
		v.keys, err = b.published(j.JWKS)
	case j.KeyFile != "":
		v.keys, err = readKey(j.KeyFile, &v.algs)
	default:
		err = errors.New("gateway: jwt: says with neither key-file nor jwks what tokens are verified with")
	}
	if err == nil && len(v.algs) == 0 {
		err = errors.New("gateway: jwt: none of the algorithms goes with the key")
	}
	return v, err
}

// published returns the keys of a file or URL as they are now: a reload is how an
// operator says that a key is not good any more.
func (b *builder) published(from string) (*keySet, error) {
	sign := from
	if text, err := os.ReadFile(from); err == nil {
		sign = fmt.Sprintf("%s %x", from, sha256.Sum256(text))
	}
	k, err := take(b.parts.keys, b.before.keys, sign, func() (*keySet, error) { return newKeySet(from, b.log) })
	if err == nil && k.remote() {
		k.refresh()
	}
	return k, err
}

var known = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA, jose.HS256, jose.HS384, jose.HS512,
}

func symmetric(a jose.SignatureAlgorithm) bool { return strings.HasPrefix(string(a), "HS") }

func (*byToken) challenge(h http.Header) { h.Set("WWW-Authenticate", "Bearer") }

func (b *byToken) identify(r *http.Request, _ *visit) (*identity, error) {
	raw, err := bearer(r.Header["Authorization"])
	if err != nil {
		return nil, err
	}
	token, err := jwt.ParseSigned(raw, b.algs)
	if err != nil {
		return nil, err
	}
	keys, err := b.keys.find(r.Context(), token.Headers[0].KeyID)
	if err != nil {
		return nil, err
	}
	var (
		standard jwt.Claims
		claims   map[string]any
	)
	err = errors.New("gateway: no key verifies the token")
	for _, key := range keys {
		if err = token.Claims(key, &standard, (*numbers)(&claims)); err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	if err := b.check(&standard); err != nil {
		return nil, err
	}
	id := &identity{claims: claims}
	who, err := named(id.claim(b.Claim))
	if err != nil {
		return nil, err
	}
	id.user = who.user
	return id, nil
}

// check tells whether a token is good now, and here. One without an end is not: it
// would be good for ever.
func (b *byToken) check(c *jwt.Claims) error {
	if c.Expiry == nil {
		return errors.New("gateway: the token has no exp")
	}
	want := jwt.Expected{Issuer: b.Issuer, Time: time.Now()}
	if b.Audience != "" {
		want.AnyAudience = jwt.Audience{b.Audience}
	}
	return c.ValidateWithLeeway(want, leeway)
}

// bearer returns the token of a request.
func bearer(values []string) (string, error) {
	if len(values) != 1 {
		return "", fmt.Errorf("gateway: Authorization is there %d times", len(values))
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > mostToken {
		return "", errors.New("gateway: Authorization holds no bearer token")
	}
	return token, nil
}

// numbers are claims whose numbers are as they were written.
type numbers map[string]any

// UnmarshalJSON implements json.Unmarshaler.
func (n *numbers) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	return d.Decode((*map[string]any)(n))
}
