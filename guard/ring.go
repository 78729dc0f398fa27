package guard

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
)

// A Ring holds the keys that encrypt results with AES-GCM. Each result is bound to its
// record. The first key encrypts; all keys decrypt. Replace a key in three steps: add the new
// one behind the old one in every process, move it to the front, and drop the old one
// when its last record has expired.
type Ring struct {
	current string
	aeads   map[string]cipher.AEAD
}

// A Secret is a key of 16, 24 or 32 bytes. Each record contains the name of its key,
// unencrypted.
type Secret struct {
	Name string
	Key  []byte
}

const (
	maxSecretName = 64
	nonceSize     = 12
)

// NewRing returns a Ring of the given keys.
func NewRing(current Secret, older ...Secret) (*Ring, error) {
	r := &Ring{current: current.Name, aeads: make(map[string]cipher.AEAD)}
	for _, s := range append([]Secret{current}, older...) {
		if s.Name == "" || len(s.Name) > maxSecretName {
			return nil, fmt.Errorf("guard: a secret's name has %d bytes: use 1 to %d", len(s.Name), maxSecretName)
		}
		if _, ok := r.aeads[s.Name]; ok {
			return nil, fmt.Errorf("guard: two secrets are named %q: use different names", s.Name)
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

// seal returns an encrypted envelope.
func (r *Ring) seal(key string, what content, text []byte) ([]byte, error) {
	aead := r.aeads[r.current]
	start := headerSize + len(r.current) + nonceSize
	out := make([]byte, start, start+len(text)+aead.Overhead())
	out[0], out[1], out[2] = version, byte(what), byte(len(r.current))
	copy(out[headerSize:], r.current)
	nonce := out[start-nonceSize : start]
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	return aead.Seal(out, nonce, text, r.binding(key, what, r.current)), nil
}

// unseal decrypts an envelope made by seal.
func (r *Ring) unseal(key string, what content, envelope []byte) ([]byte, error) {
	start := headerSize + int(envelope[2])
	if len(envelope) < start+nonceSize {
		return nil, fmt.Errorf("%w: it is truncated", ErrCorrupt)
	}
	name := string(envelope[headerSize:start])
	if r == nil {
		return nil, fmt.Errorf("%w %q: pass a ring with that key to Encrypt", ErrSealed, name)
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

// binding returns what the encryption authenticates besides the text.
func (r *Ring) binding(key string, what content, name string) []byte {
	return append(appendBinding(nil, key, what), name...)
}
