package engine

import (
	"crypto/sha256"
	"encoding/hex"
)

// ShortHolder returns 16 hex digits that stand for a holder id in texts, logs and
// operator tools. The id itself is a secret: a client that knows it could release
// the holder's lock. It returns "" for an empty id.
func ShortHolder(id string) string {
	if id == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}
