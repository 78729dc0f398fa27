package guard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

var (
	// ErrTokenUnknown means that a token has no valid signature: it was not issued
	// here, or was changed.
	ErrTokenUnknown = errors.New("guard: token is unknown; request a new one")

	// ErrTokenForeign means that a token was issued to another user, or for
	// another form.
	ErrTokenForeign = errors.New("guard: token belongs to another user or form; request a new one")

	// ErrTokenExpired means that a token is too old.
	ErrTokenExpired = errors.New("guard: token has expired; request a new one")
)

// Tokens issues tokens that a client sends with a form, so that the form is submitted
// once. A token is bound to a user and a form, and valid for a limited time. The
// record of the work shows that the token was spent, and lasts as long as the token
// is valid. Nothing is stored for an unused token.
//
// All processes that serve the form must share the secrets.
type Tokens struct {
	secrets  [][]byte
	life     time.Duration
	counters atomic.Pointer[tokenTable] // nil before the first token
}

// tokenSlack is how much longer than the token its record lasts, since the clocks of
// the servers differ.
const tokenSlack = time.Minute

// The sizes of a secret and of the parts of a token, in bytes.
const (
	minSecret = 16
	tokenID   = 16
	tokenBind = 16
	tokenMAC  = 16
	tokenSize = tokenID + 8 + tokenBind + tokenMAC
)

// NewTokens returns Tokens that are valid for life. The first secret signs; tokens
// signed with the older ones are still accepted. Replace a secret like a key of a
// [Ring], since a process without the new secret refuses its tokens.
func NewTokens(life time.Duration, secret []byte, older ...[]byte) (*Tokens, error) {
	if err := checkRange("life", life, time.Second); err != nil {
		return nil, fmt.Errorf("guard: tokens: %w", err)
	}
	t := &Tokens{life: life}
	for _, s := range append([][]byte{secret}, older...) {
		if len(s) < minSecret {
			return nil, fmt.Errorf("guard: tokens: a secret of %d bytes can be guessed: use 32 random bytes", len(s))
		}
		t.secrets = append(t.secrets, append([]byte(nil), s...))
	}
	return t, nil
}

// Life returns how long a token is valid.
func (t *Tokens) Life() time.Duration { return t.life }

// Issue returns a new token for a user and a form.
func (t *Tokens) Issue(user, form string) string {
	t.countIn(form).issued.Add(1)
	token := make([]byte, 0, tokenSize)
	token = append(token, make([]byte, tokenID)...)
	if _, err := rand.Read(token); err != nil {
		panic(err) // crypto/rand documents that it never fails
	}
	token = binary.BigEndian.AppendUint64(token, uint64(time.Now().Add(t.life).UnixMilli())) //nolint:gosec // after 1970
	token = append(token, t.bind(t.secrets[0], user, form)...)
	token = append(token, t.sign(t.secrets[0], token)...)
	return base64.RawURLEncoding.EncodeToString(token)
}

// Redeem returns the key of a token, for a [Guard] whose policy keeps results. A repeat
// with the same token gets the same result; after a refusal or a failure, the token can
// be used again. Redeem itself spends nothing.
//
// The error matches [ErrTokenUnknown] or [ErrTokenForeign]. An expired token still finds
// its earlier result while that is kept; without a result the guard returns
// [ErrTokenExpired].
func (t *Tokens) Redeem(token, user, form string) (Key, error) {
	k, err := t.redeem(token, user, form)
	if err != nil {
		t.countIn(form).unknown.Add(1)
	}
	return k, err
}

func (t *Tokens) redeem(token, user, form string) (Key, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) != tokenSize || len(token) != base64.RawURLEncoding.EncodedLen(tokenSize) { // the decoder ignores line breaks
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
		tokenExpiry: until, expired: !time.Now().Before(until),
	}, nil
}

// signer returns the secret that signed a token, or nil.
func (t *Tokens) signer(raw []byte) []byte {
	signed, mac := raw[:tokenSize-tokenMAC], raw[tokenSize-tokenMAC:]
	for _, s := range t.secrets {
		if hmac.Equal(mac, t.sign(s, signed)) {
			return s
		}
	}
	return nil
}

// sign returns the signature of a token.
func (t *Tokens) sign(secret, token []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("token"))
	mac.Write(token)
	return mac.Sum(nil)[:tokenMAC]
}

// bind returns a hash that ties a token to its user and form without revealing them.
func (t *Tokens) bind(secret []byte, user, form string) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("bound"))
	mac.Write(appendPart(appendPart(nil, user), form))
	return mac.Sum(nil)[:tokenBind]
}
