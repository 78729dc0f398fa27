package guard

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/interlock-go/interlock"
)

// A Key names the work that must happen once. [Policy.Scope] decides which of its
// parts count.
type Key struct {
	// User is the authenticated user. Never take it from what the client claims.
	User string

	// Route is the operation, if a guard serves several.
	Route string

	// ID is the client's key for this intent, or a business key such as an order
	// number.
	ID string

	// Fingerprint identifies the payload, so that one ID is not used for two
	// different requests. See [Key.For].
	Fingerprint string

	tokenExpiry time.Time // the record must last at least until then
	expired     bool      // tokenExpiry has passed: the token only finds an earlier result
	hashed      string    // the stored key, if only that is known; see Hashed
}

// Of returns the key of a user's request id.
func Of(user, id string) Key { return Key{User: user, ID: id} }

// ID returns a key for a guard whose scope is [Global].
func ID(id string) Key { return Key{ID: id} }

// Hashed returns the key with the given stored form, as [Guard.List], errors and logs
// show it. Operators pass it to [Guard.Lookup], [Guard.Resolve] and [Guard.Forget]
// without knowing the user.
func Hashed(key string) Key { return Key{hashed: key} }

// For returns k with the fingerprint of a payload. It covers all parts and their
// lengths. A call that reuses the ID with another payload gets a *[MismatchError].
func (k Key) For(payload ...[]byte) Key {
	h := sha256.New()
	var length [8]byte
	for _, part := range payload {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write(part)
	}
	k.Fingerprint = base64.RawURLEncoding.EncodeToString(h.Sum(nil))
	return k
}

// StoredKey returns a key as the engine stores it, without the client's prefix: the key
// of a [Record]. name and s are those of the guard's policy; the guard must not use
// [HashWith].
func StoredKey(name string, s Scope, k Key) (string, error) {
	if s == "" {
		s = PerUser
	}
	if err := k.check(s); err != nil {
		return "", err
	}
	sum := k.digest(name, s, nil)
	return interlock.Key(name) + ":" + base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// maxPart bounds a part of a key, in bytes. More than that is data in the wrong place.
const maxPart = 1024

// check refuses keys that do not identify the work.
func (k *Key) check(s Scope) error {
	switch {
	case k.hashed != "":
		return fmt.Errorf("%w: %q is a stored key; pass its user and ID instead", interlock.ErrKey, k.hashed)
	case k.ID == "":
		return fmt.Errorf("%w: the ID is empty; use the client's key, or a business key such as an order number", interlock.ErrKey)
	case s != Global && k.User == "":
		return fmt.Errorf("%w: the user is empty; set the authenticated user, or give the policy the scope %q", interlock.ErrKey, Global)
	case s == PerRoute && k.Route == "":
		return fmt.Errorf("%w: the route is empty, and the scope %q needs one", interlock.ErrKey, PerRoute)
	case len(k.ID) > maxPart, len(k.User) > maxPart, len(k.Route) > maxPart, len(k.Fingerprint) > maxPart:
		return fmt.Errorf("%w: a part has more than %d bytes; hash long parts", interlock.ErrKey, maxPart)
	}
	return nil
}

// digest returns a hash that identifies the key without revealing its parts. Each part
// is hashed with its length, so different keys never hash the same input.
func (k *Key) digest(name string, s Scope, secret []byte) [sha256.Size]byte {
	var buf [256]byte
	b := appendPart(buf[:0], name)
	b = appendPart(b, string(s))
	if s != Global {
		b = appendPart(b, k.User)
	}
	if s == PerRoute {
		b = appendPart(b, k.Route)
	}
	b = appendPart(b, k.ID)
	if secret != nil {
		return hmacOf(secret, string(b)) // the copy keeps buf on the stack
	}
	return sha256.Sum256(b)
}

func hmacOf(secret []byte, s string) (sum [sha256.Size]byte) {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(s))
	mac.Sum(sum[:0])
	return sum
}

// appendPart appends the length of s and s, so that "a:b", "c" differs from "a", "b:c".
func appendPart(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s))) //nolint:gosec // at most 1 KiB, see check
	return append(b, s...)
}
