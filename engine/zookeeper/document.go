package zookeeper

import (
	"encoding/json"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-go/interlock/internal/keystate"
)

// format is the version of the documents. A client refuses a document of a later
// version: it would execute its commands in another way than their author.
const format = 1

// maxDocument is the largest document, in bytes. ZooKeeper closes the connection of a
// client that sends more than jute.maxbuffer, 1 MB by default, in one request. The rest of
// the request has the paths of the document and of the topics that are notified.
const maxDocument = 1<<20 - 192<<10

// A document is the data of a node: a state, and the commands of the last transaction.
// The commands depend on the time and the id of the transaction. Its author did not know
// them when it wrote the commands; readers find them in the node's stat.
type document struct {
	Format      int                `json:"v"`
	Incarnation string             `json:"i"` // the name of the node's child; see commit
	State       json.RawMessage    `json:"s"`
	Commands    []keystate.Command `json:"c"`
}

// A node is a document as it was read or written. A nil node does not exist. It is
// never changed.
type node struct {
	incarnation string
	state       keystate.State // after the commands
	version     int32          // of the data
	at          keystate.Moment
}

// read decodes a document.
func read(dir, key string, data []byte, stat *zk.Stat) (*node, error) {
	var d document
	if err := json.Unmarshal(data, &d); err != nil || d.Format == 0 {
		return nil, foreignError(key, err)
	}
	if d.Format > format {
		return nil, fmt.Errorf("zookeeper: %q has a document of format %d, and this program knows %d: update the program", key, d.Format, format)
	}
	s := keystate.New(dir, key)
	if err := json.Unmarshal(d.State, s); err != nil {
		return nil, foreignError(key, err)
	}
	n := &node{incarnation: d.Incarnation, state: s, version: stat.Version, at: momentOf(stat)}
	keystate.Execute(s, d.Commands, n.at)
	return n, nil
}

// stateAt returns the state at a time, without what has expired, and the time. That is not
// before the document's, if the clock was set back.
func (n *node) stateAt(at keystate.Moment) (keystate.State, keystate.Moment) {
	s := n.state.Clone()
	now := keystate.Moment{Now: max(at.Now, n.at.Now), ID: max(at.ID, n.at.ID)}
	s.Apply(&keystate.Command{Do: keystate.DoTidy}, &keystate.Effects{Moment: now})
	return s, now
}

// removable reports whether nothing is left of the document at a time.
func (n *node) removable(at keystate.Moment) bool {
	s, now := n.stateAt(at)
	now.ID++ // the earliest transaction that may remove it
	return keystate.Removable(s, now)
}

// momentOf returns when a node was last written.
func momentOf(stat *zk.Stat) keystate.Moment {
	return keystate.Moment{Now: stat.Mtime, ID: uint64(max(stat.Mzxid, 0))}
}

// encode returns the data of a document that executes commands after a state.
func encode(incarnation string, s keystate.State, cs []keystate.Command) ([]byte, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return json.Marshal(document{Format: format, Incarnation: incarnation, State: text, Commands: cs})
}
