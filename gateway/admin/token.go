package admin

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/gateway/config"
)

// minToken is the length of the shortest token, in bytes. Shorter ones can be guessed.
const minToken = 20

// A tokenKey is a configured token. Only its hash is in memory.
type tokenKey struct {
	name string
	role config.Role
	sum  [sha256.Size]byte
}

// readTokens reads the configured tokens, and reports all mistakes at once.
func readTokens(tokens []config.AdminToken) (keys []tokenKey, err error) {
	var errs []error
	for i, t := range tokens {
		k := tokenKey{name: t.Name, role: t.Role}
		if k.sum, err = sumOf(t); err != nil {
			errs = append(errs, fmt.Errorf("admin: token %d (%q): %w", i+1, t.Name, err))
		}
		if t.Name == "" {
			errs = append(errs, fmt.Errorf("admin: token %d has no name: the audit log needs one", i+1))
		}
		if t.Role != config.View && t.Role != config.Operate {
			errs = append(errs, fmt.Errorf("admin: token %d (%q) has the role %q: choose %s or %s", i+1, t.Name, t.Role, config.View, config.Operate))
		}
		keys = append(keys, k)
	}
	return keys, errors.Join(errs...)
}

// sumOf returns the SHA-256 of a token. A hash in the file is used as it stands, because
// the length of its token cannot be checked.
func sumOf(t config.AdminToken) (sum [sha256.Size]byte, err error) {
	var text string
	switch {
	case t.SHA256 != "":
		raw, err := hex.DecodeString(t.SHA256)
		if err != nil || len(raw) != len(sum) {
			return sum, errors.New("sha256 is not 64 hexadecimal digits: make one with printf %s \"$TOKEN\" | sha256sum")
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
		return sum, errors.New("the token has no source: set sha256, file or env")
	}
	if text = strings.TrimSpace(text); len(text) < minToken {
		return sum, fmt.Errorf("the token has %d bytes and can be guessed: make one with openssl rand -hex 32", len(text))
	}
	return sha256.Sum256([]byte(text)), nil
}

// NewToken returns a random token, and its entry for [config.Admin].
func NewToken(name string, role config.Role) (token string, entry config.AdminToken) {
	token = rand.Text() + rand.Text()
	return token, config.AdminToken{Name: name, Role: role, SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(token)))}
}

// identify finds the sender of a request: by its token or session or, if the API is open,
// by its address. If it finds none, the sender keeps its empty role.
func (d *auth) identify(r *http.Request, sender *actor) *Problem {
	if len(d.keys) == 0 {
		ip, err := netip.ParseAddr(sender.address)
		switch {
		// Insecure treats every address as this machine.
		case d.cfg.Insecure:
		case !d.cfg.Open:
			return nil
		// The sender gets no role, but no problem either: authorize allows the open paths.
		case err != nil || !ip.IsLoopback():
			return nil
		case proxied(r.Header):
			return problem(Unauthenticated, "a proxy on this machine forwarded the request, so the sender is not known: add admin.tokens")
		}
		sender.name, sender.role = "local", config.Operate
		return nil
	}
	// Another scheme is not a wrong token, and does not count toward a block.
	scheme, token, found := strings.Cut(r.Header.Get("Authorization"), " ")
	if found && strings.EqualFold(scheme, "Bearer") {
		return d.checkToken(strings.TrimSpace(token), sender) // a token takes precedence over a cookie
	}
	// A browser cannot add a token to an event stream, so it has a cookie.
	d.findSession(r, sender)
	return nil
}

// proxied reports whether a proxy forwarded the request. Then the address is the proxy's,
// not the sender's.
func proxied(h http.Header) bool {
	return slices.ContainsFunc([]string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"}, func(name string) bool { return h[name] != nil })
}

// checkToken authenticates a sender by a token. A valid token works from a blocked
// address, too, because many users may share that address. Tokens are too long to guess.
func (d *auth) checkToken(token string, sender *actor) *Problem {
	k := d.find(token)
	if k == nil {
		if p := d.limits.checkBlocked(sender.address); p != nil {
			return p
		}
		d.limits.addFailure(sender.address)
		return problem(Unauthenticated, "the token is not valid")
	}
	sender.name, sender.role = k.name, k.role
	return nil
}

// find returns the key of a token, or nil. It compares with all keys in constant time, so
// that its duration reveals nothing.
func (d *auth) find(token string) (found *tokenKey) {
	sum := sha256.Sum256([]byte(token))
	for i := range d.keys {
		if subtle.ConstantTimeCompare(sum[:], d.keys[i].sum[:]) == 1 {
			found = &d.keys[i]
		}
	}
	return found
}
