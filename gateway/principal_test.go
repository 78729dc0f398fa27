package gateway_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/gateway"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/rule"
)

// An issuer signs tokens.
type issuer struct {
	t   *testing.T
	key *ecdsa.PrivateKey
	id  string
}

func newIssuer(t *testing.T, id string) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &issuer{t, key, id}
}

// claims returns the claims of a valid token.
func claims() map[string]any {
	return map[string]any{"sub": "ann", "iss": "https://id", "aud": "shop", "exp": time.Now().Add(time.Hour).Unix(), "org": map[string]any{"id": 7}}
}

// sign returns a token, signed with key. If key is nil, it uses the issuer's key.
func (i *issuer) sign(claims map[string]any, alg jose.SignatureAlgorithm, key any) string {
	i.t.Helper()
	if key == nil {
		key = i.key
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: i.id}}, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	token, err := jwt.Signed(s).Claims(claims).Serialize()
	if err != nil {
		i.t.Fatal(err)
	}
	return token
}

// pem returns the public key in PEM.
func (i *issuer) pem() []byte {
	der, err := x509.MarshalPKIXPublicKey(&i.key.PublicKey)
	if err != nil {
		i.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// jwks returns a JWK set with the public keys of the issuer and others.
func (i *issuer) jwks(others ...*issuer) []byte {
	set := jose.JSONWebKeySet{}
	for _, o := range append(others, i) {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: &o.key.PublicKey, KeyID: o.id, Use: "sig"})
	}
	text, err := json.Marshal(set)
	if err != nil {
		i.t.Fatal(err)
	}
	return text
}

// file writes a temporary file, and returns its path.
func file(t *testing.T, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// withJWT returns a configuration with that principal.
func withJWT(j config.JWT) *config.Config {
	cfg := withRules(orders())
	cfg.Principal = config.Principal{JWT: &j}
	return cfg
}

func bearer(token string) edit { return field("Authorization", "Bearer "+token) }

// A JWT principal accepts only valid tokens.
func TestTokensOfUsers(t *testing.T) {
	i := newIssuer(t, "a")
	changed := func(name string, value any) string {
		c := claims()
		if c[name] = value; value == nil {
			delete(c, name)
		}
		return i.sign(c, jose.ES256, nil)
	}
	token := i.sign(claims(), jose.ES256, nil)
	unsigned := "eyJhbGciOiJub25lIn0." + strings.Split(token, ".")[1] + "."
	now := time.Now()
	s := open(t, withJWT(config.JWT{KeyFile: file(t, "key.pem", i.pem()), Issuer: "https://id", Audience: "shop"}), nil)
	for n, c := range []struct {
		name  string
		field []edit
		ok    bool
	}{
		{"valid", []edit{bearer(token)}, true},
		{"valid, scheme in lower case", []edit{field("Authorization", "bearer "+token)}, true},
		{"expired within the leeway", []edit{bearer(changed("exp", now.Add(-10*time.Second).Unix()))}, true},
		{"several audiences", []edit{bearer(changed("aud", []string{"x", "shop"}))}, true},
		{"missing", nil, false},
		{"two tokens", []edit{bearer(token), bearer(token)}, false},
		{"another scheme", []edit{field("Authorization", "Basic "+token)}, false},
		{"not a token", []edit{bearer("abc")}, false},
		{"unsigned", []edit{bearer(unsigned)}, false},
		{"signed by another issuer's key", []edit{bearer(newIssuer(t, "a").sign(claims(), jose.ES256, nil))}, false},
		{"signed with the public key as a secret", []edit{bearer(i.sign(claims(), jose.HS256, i.pem()))}, false},
		{"expired", []edit{bearer(changed("exp", now.Add(-time.Minute).Unix()))}, false},
		{"without an expiry", []edit{bearer(changed("exp", nil))}, false},
		{"not yet valid", []edit{bearer(changed("nbf", now.Add(time.Minute).Unix()))}, false},
		{"issued tomorrow", []edit{bearer(changed("iat", now.Add(24*time.Hour).Unix()))}, false},
		{"another issuer", []edit{bearer(changed("iss", "https://evil"))}, false},
		{"another audience", []edit{bearer(changed("aud", "other"))}, false},
		{"without a user", []edit{bearer(changed("sub", nil))}, false},
		{"with an empty user", []edit{bearer(changed("sub", ""))}, false},
		{"with a control character in the user", []edit{bearer(changed("sub", "a\x00b"))}, false},
		{"too long", []edit{bearer(changed("x", strings.Repeat("x", 9000)))}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := s.send("POST", "/orders", "x", append(c.field, key(fmt.Sprint("k-", n)))...)
			if ok := got.StatusCode == http.StatusCreated; ok != c.ok {
				t.Fatalf("the response is %v, want accepted: %v", got, c.ok)
			}
			if !c.ok && (got.code() != interlockhttp.UserMissing || got.Header.Get("WWW-Authenticate") != "Bearer") {
				t.Errorf("the response is %v with the challenge %q, want user_missing and Bearer", got, got.Header.Get("WWW-Authenticate"))
			}
		})
	}
}

// A shared secret verifies tokens. Keys that do not fit the algorithms are refused.
func TestSecretsOfTokens(t *testing.T) {
	secret := []byte("0123456789abcdef0123456789abcdef")
	i := newIssuer(t, "")
	path := file(t, "secret", append(secret, '\n'))
	s := open(t, withJWT(config.JWT{KeyFile: path, Algs: []string{"HS256"}}), nil)
	if got := s.send("POST", "/orders", "x", key("k"), bearer(i.sign(claims(), jose.HS256, secret))); got.StatusCode != http.StatusCreated {
		t.Errorf("a token signed with the secret gets %v, want 201", got)
	}
	for name, j := range map[string]config.JWT{
		"a secret without an algorithm":  {KeyFile: path},
		"a public key with HS256":        {KeyFile: file(t, "k", i.pem()), Algs: []string{"HS256"}},
		"a key set with HS256":           {JWKS: file(t, "k", i.jwks()), Algs: []string{"HS256"}},
		"a short secret":                 {KeyFile: file(t, "k", secret[:20]), Algs: []string{"HS256"}},
		"none":                           {KeyFile: path, Algs: []string{"none"}},
		"no key":                         {},
		"a missing file":                 {JWKS: "/nowhere"},
		"a key set by http":              {JWKS: "http://192.0.2.1/jwks"},
		"a key set without a public key": {JWKS: file(t, "k", []byte(`{"keys":[{"kty":"oct","k":"AAAA"}]}`))},
		"a private key":                  {KeyFile: file(t, "k", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte{1}}))},
	} {
		cfg := withJWT(j)
		cfg.Upstream.To = s.gateway.Config().Upstream.To
		if err := s.gateway.Reload(cfg); err == nil {
			t.Errorf("Reload accepts %s, want an error", name)
		}
	}
}

// A published key set may change, and may be unavailable.
func TestPublishedKeys(t *testing.T) {
	a, b := newIssuer(t, "a"), newIssuer(t, "b")
	var (
		loads atomic.Int64
		set   atomic.Pointer[[]byte]
	)
	keys := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		loads.Add(1)
		if text := set.Load(); text != nil {
			w.Write(*text)
			return
		}
		http.Error(w, "down", http.StatusInternalServerError)
	}))
	t.Cleanup(keys.Close)
	j := config.JWT{JWKS: keys.URL + "/jwks"}
	send := func(s *site, i *issuer, k string) answer {
		return s.send("POST", "/orders", "x", key(k), bearer(i.sign(claims(), jose.ES256, nil)))
	}
	t.Run("if the keys are unavailable at the start, clients get 503", func(t *testing.T) {
		s := open(t, withJWT(j), nil)
		if got := send(s, a, "k"); got.StatusCode != http.StatusServiceUnavailable || got.code() != interlockhttp.StoreUnavailable {
			t.Errorf("the response is %v, want 503", got)
		}
		if n := loads.Load(); n != 1 {
			t.Errorf("the keys were loaded %d times, want once", n)
		}
	})
	text := a.jwks()
	set.Store(&text)
	t.Run("tokens of an unknown key do not load the keys each time", func(t *testing.T) {
		loads.Store(0)
		s := open(t, withJWT(j), nil)
		if got := send(s, a, "k-1"); got.StatusCode != http.StatusCreated {
			t.Errorf("a token of a known key gets %v, want 201", got)
		}
		for range 5 {
			if got := send(s, b, "k-2"); got.code() != interlockhttp.UserMissing {
				t.Errorf("a token of an unknown key gets %v, want user_missing", got)
			}
		}
		if n := loads.Load(); n != 1 {
			t.Errorf("the keys were loaded %d times within five seconds, want once", n)
		}
		set.Store(nil)
		if got := send(s, a, "k-3"); got.StatusCode != http.StatusCreated {
			t.Errorf("while the keys are unavailable, a token of a known key gets %v, want 201", got)
		}
	})
}

// After a reload, a token signed with a key that was removed from the file is refused.
func TestAWithdrawnKeyIsRefused(t *testing.T) {
	a, b := newIssuer(t, "a"), newIssuer(t, "b")
	path := file(t, "keys", a.jwks(b))
	s := open(t, withJWT(config.JWT{JWKS: path}), nil)
	send := func(i *issuer) int {
		return s.send("POST", "/orders", "x", key("k"), bearer(i.sign(claims(), jose.ES256, nil))).StatusCode
	}
	if got := send(a); got != http.StatusCreated {
		t.Fatalf("before the reload, a token gets %d, want 201", got)
	}
	if err := os.WriteFile(path, b.jwks(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.gateway.Reload(s.gateway.Config()); err != nil {
		t.Fatal(err)
	}
	if got := send(a); got != http.StatusUnauthorized {
		t.Errorf("a token of the withdrawn key gets %d, want 401", got)
	}
	if got := send(b); got != http.StatusCreated {
		t.Errorf("a token of the other key gets %d, want 201", got)
	}
}

// A part of a key may be a claim of the verified token.
func TestAClaimInAKey(t *testing.T) {
	i := newIssuer(t, "a")
	lock := on("POST /orders/{id}", rule.Once, "{jwt.org.id}:{path.id}:{header.Idempotency-Key}", guard.Policy{Name: "order"})
	cfg := withJWT(config.JWT{JWKS: file(t, "keys", i.jwks(newIssuer(t, "z")))})
	cfg.Rules = []config.Rule{lock}
	s := open(t, cfg, nil)
	s.send("POST", "/orders/4:2", "x", key("k"), bearer(i.sign(claims(), jose.ES256, nil)))
	if e := s.event(); e.Key != recordID(t, "order", "7:4%3A2:k") || e.Outcome != "ran" {
		t.Errorf("the event is %+v, want ran with the claim, the path and the field in its key", e)
	}
	c := claims()
	delete(c, "org")
	if got := s.send("POST", "/orders/42", "x", key("k"), bearer(i.sign(c, jose.ES256, nil))); got.code() != interlockhttp.KeyMissing {
		t.Errorf("a token without the claim gets %v, want key_missing", got)
	}
}

// With the principal mtls, a client needs a certificate.
func TestACertificate(t *testing.T) {
	ca, server, client := certificates(t)
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	der, err := x509.MarshalPKCS8PrivateKey(server.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cfg := withRules(orders())
	cfg.Principal = config.Principal{MTLS: true}
	cfg.TLS = &config.TLS{Cert: write("cert", "CERTIFICATE", server.Certificate[0]), Key: write("key", "PRIVATE KEY", der), ClientCA: write("ca", "CERTIFICATE", ca.Raw)}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(r.Header.Get("X-Forwarded-Proto"))) }))
	t.Cleanup(service.Close)
	cfg.Upstream.To = append(cfg.Upstream.To, parse(t, service.URL))
	events := make(chan gateway.Event, 10)
	g, err := gateway.New(cfg, gateway.Options{Client: interlock.New(nil), Log: slog.New(slog.DiscardHandler), Events: func(e gateway.Event) { events <- e }})
	if err != nil {
		t.Fatal(err)
	}
	front, err := g.Server()
	if err != nil {
		t.Fatal(err)
	}
	front.ErrorLog = discardLog
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go front.ServeTLS(gateway.LimitListener(l, 2), "", "")
	t.Cleanup(func() { front.Close() })
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	send := func(certs ...tls.Certificate) (proto string, err error) {
		c := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: certs}}}
		defer c.CloseIdleConnections()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+l.Addr().String()+"/orders", strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Idempotency-Key", "k")
		resp, err := c.Do(r)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		return resp.Proto + " " + resp.Status, nil
	}
	if got, err := send(client); err != nil || got != "HTTP/2.0 200 OK" {
		t.Fatalf("a client with a certificate gets %v, error %v; want 200 with HTTP/2", got, err)
	}
	if _, err := send(); err == nil {
		t.Error("a client without a certificate is served")
	}
	if e := <-events; e.Outcome != "ran" {
		t.Errorf("the event is %+v, want the outcome ran", e)
	}
}

// certificates returns the certificates of an authority, a server and a client.
func certificates(t *testing.T) (ca *x509.Certificate, server, client tls.Certificate) {
	t.Helper()
	newKey := func() *ecdsa.PrivateKey { return newIssuer(t, "").key }
	authority := newKey()
	sign := func(n int64, template *x509.Certificate, key *ecdsa.PrivateKey, parent *x509.Certificate) []byte {
		template.SerialNumber = big.NewInt(n)
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		if parent == nil {
			parent = template
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, authority)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	der := sign(1, &x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, authority, nil)
	ca, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	serverKey, clientKey := newKey(), newKey()
	server = tls.Certificate{PrivateKey: serverKey, Certificate: [][]byte{sign(2, &x509.Certificate{Subject: pkix.Name{CommonName: "server"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}}, serverKey, ca)}}
	client = tls.Certificate{PrivateKey: clientKey, Certificate: [][]byte{sign(3, &x509.Certificate{Subject: pkix.Name{CommonName: "ann"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, clientKey, ca)}}
	return ca, server, client
}
