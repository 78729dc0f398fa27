package admin

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// sanitize returns a client's text in a form that is safe in a log or on a terminal. It
// escapes control, bidirectional and zero-width characters, and cuts the middle out of a
// long text.
func sanitize(text string) string {
	const most = 256
	if len(text) > most {
		text = text[:most/2] + "…" + text[len(text)-most/2:]
	}
	// The cut may split a character. Quote escapes the bytes that remain.
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

// hashed returns a short hash in place of a text that must not be shown.
func hashed(text string) string {
	// Eight bytes tell holders apart, and their 16 digits fit into a table.
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
