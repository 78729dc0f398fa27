package keystate

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/interlock-go/interlock/engine"
)

// A Topic is what subscribers are notified about. It belongs to a key of a class.
type Topic struct {
	Class string
	Key   string
	Part  string // which subscribers of the key
}

// KindTopic is the topic of all that wait for a lock of a kind without a position in a
// queue. Waiting readers and writers share one, because readers are granted together.
func KindTopic(key string, k engine.Kind) Topic { return Topic{Locks, key, Family(k).String()} }

// WaiterTopic is the topic of one waiter in a queue.
func WaiterTopic(key string, k engine.Kind, holder, attempt string) Topic {
	if k == engine.Permit {
		holder += "/" + attempt
	}
	return Topic{Locks, key, k.String() + "~" + Digest(holder)}
}

// RecordTopic is the topic of the settlement of a claim.
func RecordTopic(key string) Topic { return Topic{Records, key, "record"} }

// ClientTopic is the topic of the revocation of a client's locks.
func ClientTopic(id string) Topic { return Topic{Clients, id, "client"} }

// TopicOf returns the topic that r waits for.
func TopicOf(r *engine.Request) Topic {
	if r.Kind == engine.Fair || r.Kind == engine.Permit {
		return WaiterTopic(r.Key, r.Kind, Pack(r.Holder), Pack(r.Attempt))
	}
	return KindTopic(r.Key, r.Kind)
}

// Digest keeps the names of topics short, and holder ids out of them.
func Digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}
