package zookeeper

import (
	"fmt"
	"hash/fnv"
	"net/url"
	"strings"

	"github.com/interlock-go/interlock/internal/keystate"
)

// Directories below the root. The others are the classes of documents. Each directory has
// buckets, so that the list of children of a node fits into a reply.
const (
	resultsDir = "results"
	wakeDir    = "wake"  // signals: nodes that exist only within a transaction
	clockNode  = "clock" // written to read the leader's clock
)

// buckets is the number of buckets of a directory. With names of 40 bytes, a reply of 1
// MB lists about 20,000 children, so a directory keeps more than a million documents.
const buckets = 64

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

// topicName returns the name of the node that is created and deleted in one transaction,
// which fires the watches of the subscribers of a topic.
func topicName(t keystate.Topic) string { return escape(t.Key) + "~" + t.Part }

// topicNames returns the names of topics.
func topicNames(topics []keystate.Topic) []string {
	names := make([]string, len(topics))
	for i, t := range topics {
		names[i] = topicName(t)
	}
	return names
}
