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

// A Key says which work it is that is to happen once. Which of its parts count is
// for [Policy.Scope] to say.
type Key struct {
	// User is on whose behalf: from whoever was authenticated, never from what
	// the client says.
	User string

	// Route is the operation, if a guard serves several.
	Route string

	// ID is what the client chose for this intent, or a business key such as an
	// order number.
	ID string

	// Fingerprint stands for what is asked for, so that an ID is not used for
	// two different things. See [Key.For].
	Fingerprint string

	until   time.Time // a token's end, before which it must not be forgotten
	expired bool      // that is over: only what it was spent on can be had
	hashed  string    // what the engine calls it, if that is all that is known
}

// Of returns the key of what user asks for under id.
func Of(user, id string) Key { return Key{User: user, ID: id} }

// ID returns a key for a guard whose scope is [Global].
func ID(id string) Key { return Key{ID: id} }

// Hashed returns the key that the engine calls so, as [Guard.List], errors and logs
// tell it. It is for operators, who do not know whose it is: for [Guard.Lookup],
// [Guard.Resolve] and [Guard.Forget].
func Hashed(key string) Key { return Key{hashed: key} }

// For returns k with the fingerprint of a payload: of all its parts, and of where
// each ends. A caller who uses the ID again with another payload is refused with
// a *[MismatchError].
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

// mostPart is how long a part of a key may be, in bytes. More than that is data
// that went astray.
const mostPart = 1024

// check refuses what cannot tell one piece of work from another.
func (k *Key) check(s Scope) error {
	switch {
	case k.hashed != "":
		return fmt.Errorf("%w: %q is what the engine calls one; give its user and ID", interlock.ErrKey, k.hashed)
	case k.ID == "":
		return fmt.Errorf("%w: its ID is empty; use what the client sent, or a business key such as an order number", interlock.ErrKey)
	case s != Global && k.User == "":
		return fmt.Errorf("%w: it has no user; set one from authentication, or give the policy the scope %q", interlock.ErrKey, Global)
	case s == PerRoute && k.Route == "":
		return fmt.Errorf("%w: it has no route, which the scope %q needs", interlock.ErrKey, PerRoute)
	case len(k.ID) > mostPart, len(k.User) > mostPart, len(k.Route) > mostPart, len(k.Fingerprint) > mostPart:
		return fmt.Errorf("%w: a part has more than %d bytes; hash what is long", interlock.ErrKey, mostPart)
	}
	return nil
}

// digest returns what tells the key apart from all others: nobody can read from it
// who did what, and no two keys have the same, whatever their parts hold.
func (k *Key) digest(name string, s Scope, secret []byte) [sha256.Size]byte {
	var room [256]byte
	b := part(room[:0], name)
	b = part(b, string(s))
	if s != Global {
		b = part(b, k.User)
	}
	if s == PerRoute {
		b = part(b, k.Route)
	}
	b = part(b, k.ID)
	if secret != nil {
		return keyed(secret, string(b)) // a copy, lest b be made on the heap for all
	}
	return sha256.Sum256(b)
}

func keyed(secret []byte, s string) (sum [sha256.Size]byte) {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(s))
	mac.Sum(sum[:0])
	return sum
}

// part appends a part and its length, so that a:b and c differ from a and b:c.
func part(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s))) //nolint:gosec // checked: at most 1 KiB
	return append(b, s...)
}
