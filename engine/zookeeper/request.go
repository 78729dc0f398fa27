package zookeeper

import (
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-go/interlock/engine"
)

// answers are the errors with which a server answers: nothing else went wrong.
var answers = []error{zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion, zk.ErrNotEmpty}

// request sends one request, and reports it to the observers. It returns when the server
// has answered or the connection is lost, so callers with a deadline do not wait for it.
func request[T any](e *Engine, operation string, send func(*zk.Conn) (T, error)) (T, error) {
	conn := e.session.conn()
	if !e.calls.Active() {
		return send(conn)
	}
	start := time.Now()
	answer, err := send(conn)
	e.calls.Call(engine.ServerCall{
		Operation: operation, Node: conn.Server(), Took: time.Since(start), Err: observed(operation, err),
	})
	return answer, err
}

// observed returns the error of a request as observers see it. It names no key.
func observed(operation string, err error) error {
	if err == nil || slices.ContainsFunc(answers, func(a error) bool { return errors.Is(err, a) }) {
		return nil
	}
	return failure("", operation, err)
}

// multi executes all operations or none, and returns the stat of the operation at, or of
// none if at is negative.
func (e *Engine) multi(operation string, at int, ops ...any) (*zk.Stat, error) {
	return request(e, operation, func(conn *zk.Conn) (*zk.Stat, error) {
		replies, err := conn.Multi(ops...)
		switch {
		case err != nil:
			return nil, err
		case at < 0:
			return nil, nil
		case at >= len(replies) || replies[at].Stat == nil:
			return nil, errNoStat
		}
		return replies[at].Stat, nil
	})
}

var errNoStat = errors.New("the reply has no stat")

// get reads a document. A document that does not exist is a nil node.
func (e *Engine) get(dir, key string) (*node, error) {
	type reply struct {
		data []byte
		stat *zk.Stat
	}
	path := e.path(dir, key)
	r, err := request(e, "read", func(conn *zk.Conn) (reply, error) {
		data, stat, err := conn.Get(path)
		return reply{data, stat}, err
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil, nil
	case err != nil:
		return nil, failure(key, "read", err)
	}
	return read(dir, key, r.data, r.stat)
}

// create makes a node without data, unless it exists.
func (e *Engine) create(path string, data []byte) error {
	_, err := request(e, "create", func(conn *zk.Conn) (string, error) { return conn.Create(path, data, 0, e.acl) })
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}
