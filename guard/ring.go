package guard

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
)

// A Ring holds the keys with which results are encrypted, by AES-GCM and bound to
// the record they belong to. The first one given encrypts; all of them decrypt,
// so that a key is replaced in three steps: add the new one behind the old one in
// every process, put it in front, and drop the old one when the last record that
// it wrote has run out.
type Ring struct {
	current string
	aeads   map[string]cipher.AEAD
}

// A Secret is a key with a name, by which a record says how it was encrypted. A
// key has 16, 24 or 32 bytes. Names are stored in the clear.
type Secret struct {
	Name string
	Key  []byte
}

const (
	mostSecretName = 64
	nonceSize      = 12
)

// NewRing returns a Ring of the given keys.
func NewRing(current Secret, older ...Secret) (*Ring, error) {
	r := &Ring{current: current.Name, aeads: make(map[string]cipher.AEAD)}
	for _, s := range append([]Secret{current}, older...) {
		if s.Name == "" || len(s.Name) > mostSecretName {
			return nil, fmt.Errorf("guard: a secret's name has %d bytes: give it 1 to %d", len(s.Name), mostSecretName)
		}
		if _, ok := r.aeads[s.Name]; ok {
			return nil, fmt.Errorf("guard: two secrets are called %q: records could not tell them apart", s.Name)
		}
		block, err := aes.NewCipher(s.Key)
		if err != nil {
			return nil, fmt.Errorf("guard: secret %q: %w; use 32 random bytes", s.Name, err)
		}
		if r.aeads[s.Name], err = cipher.NewGCM(block); err != nil {
			return nil, fmt.Errorf("guard: secret %q: %w", s.Name, err)
		}
	}
	return r, nil
}

// seal returns an envelope that only the ring can open.
func (r *Ring) seal(key string, what content, text []byte) ([]byte, error) {
	aead := r.aeads[r.current]
	start := plain + len(r.current) + nonceSize
	out := make([]byte, start, start+len(text)+aead.Overhead())
	out[0], out[1], out[2] = version, byte(what), byte(len(r.current))
	copy(out[plain:], r.current)
	nonce := out[start-nonceSize : start]
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	return aead.Seal(out, nonce, text, r.binding(key, what, r.current)), nil
}

// unseal returns what seal was given.
func (r *Ring) unseal(key string, what content, envelope []byte) ([]byte, error) {
	start := plain + int(envelope[2])
	if len(envelope) < start+nonceSize {
		return nil, fmt.Errorf("%w: it is cut short", ErrCorrupt)
	}
	name := string(envelope[plain:start])
	if r == nil {
		return nil, fmt.Errorf("%w %q: give this guard the ring that has it, with Encrypt", ErrSealed, name)
	}
	if r.aeads[name] == nil {
		return nil, fmt.Errorf("%w %q: add it to the ring", ErrSealed, name)
	}
	nonce, sealed := envelope[start:start+nonceSize], envelope[start+nonceSize:]
	text, err := r.aeads[name].Open(nil, nonce, sealed, r.binding(key, what, name))
	if err != nil {
		return nil, errors.Join(ErrCorrupt, err)
	}
	return text, nil
}

// binding is what a sealed text is bound to.
func (r *Ring) binding(key string, what content, name string) []byte {
	return append(place(nil, key, what), name...)
}
