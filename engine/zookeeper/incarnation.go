package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-go/interlock/engine"
)

// Connections implements [engine.Incarnations].
func (e *Engine) Connections() uint64 {
	_, connects, _ := e.session.state()
	return connects
}

// Incarnation implements [engine.Incarnations]. An ensemble syncs each transaction to
// disk before it answers, so an incarnation ends when its data is deleted. The root has
// a random text, which is another one after that.
func (e *Engine) Incarnation(ctx context.Context) (engine.Incarnation, error) {
	if err := e.usable(ctx); err != nil {
		return engine.Incarnation{}, err
	}
	deadline := time.Now().Add(e.timeout)
	at, err := e.present(ctx, "incarnation") // creates the root if it is missing
	if err != nil {
		return engine.Incarnation{}, err
	}
	r, err := within(ctx, deadline, e, "incarnation", e.readRoot)
	if err != nil {
		return engine.Incarnation{}, readFailure("incarnation", err)
	}
	return engine.Incarnation{ID: r.id, Age: max(0, time.Duration(at.Now-r.since)*time.Millisecond)}, nil
}

// A rootText is what the root says.
type rootText struct {
	id    string
	since int64 // when the root was created
}

// readRoot reads the root.
func (e *Engine) readRoot() (rootText, error) {
	type reply struct {
		data []byte
		stat *zk.Stat
	}
	r, err := request(e, "read", func(conn *zk.Conn) (reply, error) {
		data, stat, err := conn.Get(e.root)
		return reply{data, stat}, err
	})
	if err == nil && r.stat == nil {
		err = errors.New("the reply has no stat")
	}
	if err != nil {
		return rootText{}, failure("", "read", err)
	}
	// An operator may have created the root without a text.
	return rootText{fmt.Sprintf("%s %x", r.data, r.stat.Czxid), r.stat.Ctime}, nil
}
