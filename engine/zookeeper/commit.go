package zookeeper

import (
	"crypto/rand"
	"errors"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-go/interlock/internal/keystate"
)

// A plan is a transaction on one document.
type plan struct {
	node        *node // nil to create it
	before      keystate.State
	commands    []keystate.Command
	answers     []any // as far as they are known before the transaction
	effects     keystate.Effects
	remove      bool // remove the document in the same transaction
	incarnation string
	signals     []string // topics to notify in the transaction
	data        []byte
}

// maxSignals is how long the paths of the topics are that a transaction notifies, in
// bytes. Further topics are notified after it.
const maxSignals = 32 << 10

// plan executes the calls of a round on the known document, at a time that is not after
// the transaction's. The time tells what the transaction will probably do: whether it is
// needed, and which waiters to notify.
func (r *round) plan() plan {
	p := plan{node: r.node, before: keystate.New(r.dir, r.key)}
	at := r.at
	if r.node != nil {
		p.before, p.incarnation = r.node.state, r.node.incarnation
		if r.node.at.ID > at.ID {
			at = r.node.at
		}
	}
	at.ID++
	removes, tidies := true, true
	for _, x := range r.calls {
		p.commands = append(p.commands, x.Command)
		removes, tidies = removes && x.Removes(), tidies && x.Do == keystate.DoTidy
	}
	after := p.before.Clone()
	p.answers, p.effects = keystate.Execute(after, p.commands, at)
	// The next document at this key is created later than this one is removed, so its
	// fences are higher, unless a reserve reaches that far.
	p.remove = removes && r.node != nil && keystate.Removable(after, at)
	if removes && r.node == nil || tidies && !p.remove {
		p.effects.Changed = false
	}
	if !p.effects.Changed {
		return p
	}
	p.signals, _ = r.e.fitting(topicNames(p.effects.Wakes))
	if p.incarnation == "" {
		p.incarnation = rand.Text()[:12]
	}
	data, err := encode(p.incarnation, p.before, p.commands)
	if err != nil { // no state has a value that JSON lacks
		panic("zookeeper: encoding a document: " + err.Error())
	}
	p.data = data
	return p
}

// commit executes a plan, and returns the stat of the document after it.
//
// The version of a node begins at zero again when it was removed and created. So each
// document has a child with a name of its own, which every transaction checks: a late
// transaction about an earlier document at the same key fails.
func (e *Engine) commit(path string, p *plan) (*zk.Stat, error) {
	child := path + "/" + p.incarnation
	var (
		ops     []any
		version int32
	)
	if p.node == nil {
		ops = append(ops, &zk.CreateRequest{Path: path, Acl: e.acl}, &zk.CreateRequest{Path: child, Acl: e.acl})
	} else {
		ops = append(ops, &zk.CheckVersionRequest{Path: child, Version: -1})
		version = p.node.version
	}
	at := len(ops)
	ops = append(ops, &zk.SetDataRequest{Path: path, Data: p.data, Version: version})
	ops = append(ops, e.signals(p.signals)...)
	if p.remove {
		ops = append(ops, &zk.DeleteRequest{Path: child, Version: -1}, &zk.DeleteRequest{Path: path, Version: -1})
	}
	return e.multi(p.commands[0].Do, at, ops...)
}

// signals returns the operations that notify topics.
func (e *Engine) signals(topics []string) []any {
	var ops []any
	for _, t := range topics {
		path := e.topicPath(t)
		ops = append(ops, &zk.CreateRequest{Path: path, Acl: e.acl}, &zk.DeleteRequest{Path: path, Version: -1})
	}
	return ops
}

// signal notifies topics without a change of a document.
func (e *Engine) signal(topics []string) error {
	for len(topics) > 0 {
		some, rest := e.fitting(topics)
		if _, err := e.multi("signal", -1, e.signals(some)...); err != nil {
			return err
		}
		topics = rest
	}
	return nil
}

// fitting divides topics into those that one transaction can notify, at least one, and
// the rest.
func (e *Engine) fitting(topics []string) (some, rest []string) {
	size := 0
	for i, t := range topics {
		if size += len(e.topicPath(t)); i > 0 && size > maxSignals {
			return topics[:i], topics[i:]
		}
	}
	return topics, nil
}

// topicPath returns the path of a topic.
func (e *Engine) topicPath(topic string) string { return e.root + "/" + wakeDir + "/" + topic }

// ensure creates a node unless it exists. It asks first: a user who may not create the
// root may use one that exists.
func (e *Engine) ensure(path string, data []byte) error {
	exists, err := request(e, "exists", func(conn *zk.Conn) (bool, error) {
		exists, _, err := conn.Exists(path)
		return exists, err
	})
	if err != nil || exists {
		return err
	}
	return e.create(path, data)
}

// prepare creates the root and the directories, unless they exist.
func (e *Engine) prepare() error {
	var made strings.Builder
	for part := range strings.SplitSeq(strings.Trim(e.root, "/"), "/") {
		made.WriteString("/" + part)
		var data []byte
		if made.String() == e.root {
			data = []byte(rand.Text()) // identifies the data of the ensemble; see Incarnation
		}
		if err := e.ensure(made.String(), data); err != nil {
			return failure("", "create "+made.String(), err)
		}
	}
	// The clock and the directory of the signals come first: the others need them.
	for _, dir := range []string{clockNode, wakeDir, keystate.Locks, keystate.Records, keystate.Quotas, keystate.Clients, keystate.Notes, resultsDir} {
		if err := e.ensure(e.root+"/"+dir, nil); err != nil {
			return failure("", "create "+dir, err)
		}
	}
	return nil
}

// prepareBucket creates the bucket of a path, and the directories above it. Creating a
// bucket changes no lock, so a lost reply is no unknown outcome.
func (e *Engine) prepareBucket(path string) error {
	bucket := path[:strings.LastIndexByte(path, '/')]
	err := e.create(bucket, nil)
	if errors.Is(err, zk.ErrNoNode) {
		if err := e.prepare(); err != nil {
			return readFailure(bucket, err)
		}
		err = e.create(bucket, nil)
	}
	if err != nil {
		return readFailure(bucket, failure("", "create "+bucket, err))
	}
	return nil
}
