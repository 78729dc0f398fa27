package admin

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// shown returns a text of somebody else's so that it can be read in a log or on a
// terminal and do nothing there: what is not printed, which control, bidirectional and
// zero-width characters are not, is escaped, and what is long is cut.
func sanitize(text string) string {
	const most = 256
	if len(text) > most {
		text = text[:most/2] + "…" + text[len(text)-most/2:]
	}
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

// hashed stands for something whose text is not to be told.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
