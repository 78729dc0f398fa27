package guard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

var (
	// ErrTokenUnknown means that a token was not issued here, or was changed.
	ErrTokenUnknown = errors.New("guard: token is unknown; ask for a new one")

	// ErrTokenForeign means that a token was issued to another user, or for
	// another form.
	ErrTokenForeign = errors.New("guard: token is somebody else's, or for another form; ask for a new one")

	// ErrTokenExpired means that a token is too old.
	ErrTokenExpired = errors.New("guard: token has expired; ask for a new one")
)

// Tokens issues what a client sends along with a form, so that it is submitted
// once. A token is bound to a user and a form, and good for a while; that it was
// spent is known from the record of the work, which is kept for as long as the
// token is good. Nothing is stored for a token that was issued and not used.
//
// All processes that serve the form share the secrets.
type Tokens struct {
	secrets [][]byte
	life    time.Duration
}

// tokenSlack is for how much longer than a token is good it is known to be spent:
// the clocks of those who judge it differ.
const tokenSlack = time.Minute

const (
	leastSecret = 16 // bytes
	tokenID     = 16
	tokenBind   = 16
	tokenMAC    = 16
	tokenSize   = tokenID + 8 + tokenBind + tokenMAC
)

// NewTokens returns Tokens that are good for life. The first secret signs; the
// others are older ones whose tokens are still accepted. A secret is replaced as a key
// of a [Ring] is: a process that does not have it yet refuses what it has signed.
func NewTokens(life time.Duration, secret []byte, older ...[]byte) (*Tokens, error) {
	if err := within("life", life, time.Second); err != nil {
		return nil, fmt.Errorf("guard: tokens: %w", err)
	}
	t := &Tokens{life: life}
	for _, s := range append([][]byte{secret}, older...) {
		if len(s) < leastSecret {
			return nil, fmt.Errorf("guard: tokens: a secret of %d bytes can be guessed: use 32 random ones", len(s))
		}
		t.secrets = append(t.secrets, append([]byte(nil), s...))
	}
	return t, nil
}

// Life returns how long a token is good for.
func (t *Tokens) Life() time.Duration { return t.life }

// Issue returns a new token for what user does with form.
func (t *Tokens) Issue(user, form string) string {
	token := make([]byte, 0, tokenSize)
	token = append(token, make([]byte, tokenID)...)
	if _, err := rand.Read(token); err != nil {
		panic(err) // it never fails, says its documentation
	}
	token = binary.BigEndian.AppendUint64(token, uint64(time.Now().Add(t.life).UnixMilli())) //nolint:gosec // after 1970
	token = append(token, t.bind(t.secrets[0], user, form)...)
	token = append(token, t.sign(t.secrets[0], token)...)
	return base64.RawURLEncoding.EncodeToString(token)
}

// Redeem returns the key of what a token is for, to be given to a [Guard] whose
// policy keeps results: who sends the token again gets the same result, and who
// was refused, or whose work failed, may use it again. Redeem itself spends
// nothing.
//
// The error matches [ErrTokenUnknown] or [ErrTokenForeign]. A token that has
// expired still finds what it was spent on, for as long as that is kept; if it was
// not, the guard answers with [ErrTokenExpired].
func (t *Tokens) Redeem(token, user, form string) (Key, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) != tokenSize || len(token) != base64.RawURLEncoding.EncodedLen(tokenSize) { // line ends are passed over
		return Key{}, ErrTokenUnknown
	}
	secret := t.signer(raw)
	if secret == nil {
		return Key{}, ErrTokenUnknown
	}
	if !hmac.Equal(raw[tokenID+8:tokenID+8+tokenBind], t.bind(secret, user, form)) {
		return Key{}, ErrTokenForeign
	}
	until := time.UnixMilli(int64(binary.BigEndian.Uint64(raw[tokenID:]))) //nolint:gosec // signed by us
	return Key{
		User: user, Route: form, ID: base64.RawURLEncoding.EncodeToString(raw[:tokenID]),
		until: until, expired: !time.Now().Before(until),
	}, nil
}

// signer returns the secret that a token was signed with, or nil.
func (t *Tokens) signer(raw []byte) []byte {
	signed, mac := raw[:tokenSize-tokenMAC], raw[tokenSize-tokenMAC:]
	for _, s := range t.secrets {
		if hmac.Equal(mac, t.sign(s, signed)) {
			return s
		}
	}
	return nil
}

// sign returns what proves that a token is ours.
func (t *Tokens) sign(secret, token []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("token"))
	mac.Write(token)
	return mac.Sum(nil)[:tokenMAC]
}

// bind returns what a token says of its user and form, without naming them.
func (t *Tokens) bind(secret []byte, user, form string) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("bound"))
	mac.Write(part(part(nil, user), form))
	return mac.Sum(nil)[:tokenBind]
}
