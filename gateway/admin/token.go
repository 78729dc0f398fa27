package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"strings"

	"github.com/interlock-go/interlock/gateway/config"
)

// minToken is how long a token has to be, in bytes: shorter ones can be guessed.
const minToken = 20

// A key is what is known of a token: not the token.
type tokenKey struct {
	name string
	role config.Role
	sum  [sha256.Size]byte
}

// readTokens finds the tokens where the configuration says that they are.
func readTokens(tokens []config.AdminToken) (keys []tokenKey, err error) {
	var errs []error
	for i, t := range tokens {
		k := tokenKey{name: t.Name, role: t.Role}
		if k.sum, err = sumOf(t); err != nil {
			errs = append(errs, fmt.Errorf("admin: token %d (%q): %w", i+1, t.Name, err))
		}
		if t.Name == "" {
			errs = append(errs, fmt.Errorf("admin: token %d has no name: the audit trail says who did what", i+1))
		}
		if t.Role != config.View && t.Role != config.Operate {
			errs = append(errs, fmt.Errorf("admin: token %d (%q) has the role %q: choose %s or %s", i+1, t.Name, t.Role, config.View, config.Operate))
		}
		keys = append(keys, k)
	}
	return keys, errors.Join(errs...)
}

// checksumOf returns the SHA-256 of a token.
func sumOf(t config.AdminToken) (sum [sha256.Size]byte, err error) {
	var text string
	switch {
	case t.SHA256 != "":
		raw, err := hex.DecodeString(t.SHA256)
		if err != nil || len(raw) != len(sum) {
			return sum, errors.New("its sha256 is not 64 hexadecimal digits: make one with printf %s \"$TOKEN\" | sha256sum")
		}
		copy(sum[:], raw)
		return sum, nil
	case t.File != "":
		raw, err := os.ReadFile(t.File)
		if err != nil {
			return sum, err
		}
		text = string(raw)
	case t.Env != "":
		text = os.Getenv(t.Env)
	default:
		return sum, errors.New("nothing says what it is: give its sha256, or a file or environment variable that has it")
	}
	if text = strings.TrimSpace(text); len(text) < minToken {
		return sum, fmt.Errorf("it has %d characters and can be guessed: make one with openssl rand -hex 32", len(text))
	}
	return sha256.Sum256([]byte(text)), nil
}

// identify finds out who makes a request: by a token, by a session, or, if no tokens
// are configured, by where it comes from.
func (d *auth) identify(r *http.Request, by *actor) *Problem {
	if len(d.keys) == 0 {
		ip, err := netip.ParseAddr(by.address)
		switch {
		case d.cfg.Insecure:
		case err != nil || !ip.IsLoopback():
			return nil
		case proxied(r.Header):
			return problem(Unauthenticated, "a proxy on this machine passed this on, and nobody knows for whom: add admin.tokens")
		}
		by.name, by.role = "local", config.Operate
		return nil
	}
	if d.findSession(r, by) {
		return nil
	}
	scheme, token, shownOne := strings.Cut(r.Header.Get("Authorization"), " ")
	if !shownOne || !strings.EqualFold(scheme, "Bearer") {
		return nil
	}
	return d.checkToken(strings.TrimSpace(token), by)
}

// proxied tells whether a request came by a proxy: then where it comes from says
// nothing of who sent it.
func proxied(h http.Header) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"} {
		if h[name] != nil {
			return true
		}
	}
	return false
}

// present looks at a token that somebody shows. Who has shown too many wrong ones has
// to wait, even with a right one: otherwise it could be found by trying.
func (d *auth) checkToken(token string, by *actor) *Problem {
	if p := d.limits.checkBlocked(by.address); p != nil {
		return p
	}
	k := d.find(token)
	if k == nil {
		d.limits.addFailure(by.address)
		return problem(Unauthenticated, "that token is not known here")
	}
	d.limits.resetFailures(by.address)
	by.name, by.role = k.name, k.role
	return nil
}

// find returns whose token it is. It takes as long whichever it is, or none.
func (d *auth) find(token string) (found *tokenKey) {
	sum := sha256.Sum256([]byte(token))
	for i := range d.keys {
		if subtle.ConstantTimeCompare(sum[:], d.keys[i].sum[:]) == 1 {
			found = &d.keys[i]
		}
	}
	return found
}
