package gateway

import (
	"crypto"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// parseKeys reads the public signature keys of a JWK set, and ignores all others.
func parseKeys(text []byte) ([]jose.JSONWebKey, error) {
	var set struct{ Keys []json.RawMessage }
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, err
	}
	var keys []jose.JSONWebKey
	// Each key is decoded separately, so that a key of an unsupported type does not make the
	// whole set invalid.
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		// IsPublic also excludes symmetric keys: a secret in a published set is no
		// secret.
		if key.UnmarshalJSON(raw) == nil && key.Valid() && key.IsPublic() && (key.Use == "" || key.Use == "sig") {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("the set contains no public signature key")
	}
	return keys, nil
}

// readKey reads a public key or a secret, and removes the algorithms that do not fit it.
// With HS256 allowed for a public key, a client could sign its own tokens with that key.
func readKey(file string, algs *[]jose.SignatureAlgorithm) (*keySet, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("gateway: key-file: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		// Without PEM, the text is a shared secret, which fits the HS algorithms only.
		*algs = slices.DeleteFunc(*algs, func(a jose.SignatureAlgorithm) bool { return !symmetric(a) })
		// Editors end a file with a line end. Other spaces may belong to the secret.
		secret := []byte(strings.Trim(string(text), "\r\n"))
		if len(secret) < minSecret {
			return nil, fmt.Errorf("gateway: key-file: %s has no PEM block, so it is a shared secret, and a secret of %d bytes can be guessed: use at least %d random bytes, or a PEM public key", file, len(secret), minSecret)
		}
		return &keySet{keys: []jose.JSONWebKey{{Key: secret}}}, nil
	}
	// The file is public: it must not serve as an HMAC secret.
	*algs = slices.DeleteFunc(*algs, symmetric)
	key, err := publicKey(block)
	if err != nil {
		return nil, fmt.Errorf("gateway: key-file: %s: %w", file, err)
	}
	return &keySet{keys: []jose.JSONWebKey{{Key: key}}}, nil
}

// publicKey reads a key in one of the three forms that openssl writes. A private key is
// refused: the gateway only verifies.
func publicKey(block *pem.Block) (crypto.PublicKey, error) {
	switch block.Type {
	case "PUBLIC KEY":
		return x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		return x509.ParsePKCS1PublicKey(block.Bytes)
	case "CERTIFICATE":
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		return c.PublicKey, nil
	}
	return nil, fmt.Errorf("the PEM block is a %s; use a PUBLIC KEY or a CERTIFICATE", block.Type)
}
