package postgres

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/interlock-go/interlock/engine"
)

// A topic is the text of a notice. The functions in common.sql make the same ones. It has
// hashes, because notices are short, and because holder ids are secret.

// topicOf returns the topic of a request. Waiting readers and writers share one, because
// readers are granted together.
func topicOf(r *engine.Request) string {
	switch r.Kind {
	case engine.Fair:
		return waiterTopic(r, "")
	case engine.Permit:
		return waiterTopic(r, r.Attempt)
	}
	return topic("l"+strconv.Itoa(int(family(r.Kind))), r.Key)
}

// topic returns the topic of a class and a key.
func topic(class, key string) string {
	id := sha256.Sum256([]byte(key))
	return class + hex.EncodeToString(id[:16])
}

// waiterTopic returns the topic of one waiter in a queue.
func waiterTopic(r *engine.Request, attempt string) string {
	waiter := sha256.Sum256([]byte(r.Holder + "\x00" + attempt))
	return topic("w"+strconv.Itoa(int(family(r.Kind))), r.Key) + hex.EncodeToString(waiter[:8])
}

// family returns one kind for all kinds that may use the same key.
func family(k engine.Kind) engine.Kind {
	switch k {
	case engine.Fair:
		return engine.Exclusive
	case engine.Write:
		return engine.Read
	}
	return k
}
