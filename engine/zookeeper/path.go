package zookeeper

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"net/url"
	"strings"

	"github.com/interlock-go/interlock/engine"
)

// The directories below the root. Each keeps one type of document, and has buckets, so
// that the list of children of a node fits into a reply.
const (
	locksDir   = "locks"
	recordsDir = "records"
	quotasDir  = "quotas"
	clientsDir = "clients"
	notesDir   = "notes"
	resultsDir = "results"
	wakeDir    = "wake"  // signals: nodes that exist only within a transaction
	clockNode  = "clock" // written to read the leader's clock
)

// buckets is the number of buckets of a directory. With names of 40 bytes, a reply of 1
// MB lists about 20,000 children, so a directory keeps more than a million documents.
const buckets = 64

// newState returns an empty state for a document of a directory.
func newState(dir, key string) state {
	switch dir {
	case locksDir:
		return &lockState{key: key}
	case recordsDir:
		return &recordState{key: key}
	case quotasDir:
		return &quotaState{}
	case clientsDir:
		return &memberState{}
	}
	return &noteState{name: key}
}

// path returns the path of a document.
func (e *Engine) path(dir, key string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return e.bucket(dir, int(h.Sum32()%buckets)) + "/" + escape(key)
}

// bucket returns the path of a bucket.
func (e *Engine) bucket(dir string, n int) string { return fmt.Sprintf("%s/%s/%02x", e.root, dir, n) }

// escape returns a name for a node. ZooKeeper forbids slashes, control characters, and
// the names "." and "..". Only letters, digits and a few signs stay as they are.
func escape(key string) string {
	var b strings.Builder
	for i := range len(key) {
		switch c := key[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte(":_-@=+,", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// unescape returns the key of a node, and false if escape did not make the name.
func unescape(name string) (string, bool) {
	key, err := url.PathUnescape(name)
	return key, err == nil && escape(key) == name
}

// The topics of notifications. A topic is the name of a node that is created and
// deleted in one transaction, which fires the watches of those that listen.

// kindTopic is the topic of all that wait for a lock of a kind without a position in a
// queue. Waiting readers and writers share one, because readers are granted together.
func kindTopic(key string, k engine.Kind) string { return escape(key) + "~" + family(k).String() }

// waiterTopic is the topic of one waiter in a queue.
func waiterTopic(key string, k engine.Kind, holder, attempt string) string {
	if k == engine.Permit {
		holder += "/" + attempt
	}
	return escape(key) + "~" + k.String() + "~" + digest(holder)
}

// recordTopic is the topic of the settlement of a claim.
func recordTopic(key string) string { return escape(key) + "~record" }

// clientTopic is the topic of the revocation of a client's locks.
func clientTopic(id string) string { return escape(id) + "~client" }

// topicOf returns the topic that r waits for.
func topicOf(r *engine.Request) string {
	if r.Kind == engine.Fair || r.Kind == engine.Permit {
		return waiterTopic(r.Key, r.Kind, pack(r.Holder), pack(r.Attempt))
	}
	return kindTopic(r.Key, r.Kind)
}

// digest keeps the names of topics short, and holder ids out of them.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}
