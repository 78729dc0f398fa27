package cli

import (
	"net/url"
	"strings"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// keyList is what key ls writes for programs. The names are those of the admin API.
type keyList struct {
	Keys []keyJSON `json:"keys"`
	More bool      `json:"more"` // there are more than --limit
}

// keyJSON is what a guard remembers of a key.
type keyJSON struct {
	Key         string    `json:"key"` // what the engine calls it
	Guard       string    `json:"guard"`
	State       string    `json:"state"`
	Fence       uint64    `json:"fence"`
	Began       time.Time `json:"began"`
	Age         int64     `json:"age_ms"`
	TTL         int64     `json:"ttl_ms"`
	Fingerprint string    `json:"fingerprint,omitempty"`
}

func keyOf(r engine.Record) keyJSON {
	return keyJSON{r.Key, guardOf(r.Key), r.State.String(), r.Fence, r.Began, r.Age.Milliseconds(), r.Left.Milliseconds(), r.Fingerprint}
}

func (k keyJSON) age() time.Duration { return time.Duration(k.Age) * time.Millisecond }

func (k keyJSON) left() time.Duration { return time.Duration(k.TTL) * time.Millisecond }

// guardOf returns the name of the guard that has made a key, with the prefix of its
// client: what stands before the last colon.
func guardOf(key string) string {
	i := strings.LastIndexByte(key, ':')
	if i < 0 {
		return ""
	}
	name, err := url.PathUnescape(key[:i])
	if err != nil {
		return key[:i]
	}
	return name
}
