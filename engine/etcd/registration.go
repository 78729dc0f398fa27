package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
)

// memberReads is how many clients are read in one transaction.
const memberReads = 100

// A registration is the value of a client's key.
type registration struct {
	Name  string    `json:"name"`
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// Register implements [engine.Inspector].
func (e *Engine) Register(ctx context.Context, m engine.Member, life time.Duration) error {
	if m.ID == "" || life <= 0 {
		return fmt.Errorf("etcd: register client %q for %v: set its ID, and a life above zero", m.ID, life)
	}
	ctx, cancel, err := e.begin(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	l, err := e.newLease(ctx, m.ID, seconds(life))
	if err != nil {
		return err
	}
	client := value(&registration{m.Name, m.Host, m.PID, m.Since})
	_, err = e.commit(ctx, &change{
		name: m.ID, operation: "register", do: []clientv3.Op{clientv3.OpPut(e.keys.member(m.ID), client, clientv3.WithLease(l.id))},
	})
	if errors.Is(err, errLeaseGone) { // the call took longer than the life
		return fail(m.ID, "register: the life of the registration ended before it was written", engine.ErrUnavailable)
	}
	return err
}

// Members implements [engine.Inspector].
func (e *Engine) Members(ctx context.Context, ids []string) (members []engine.Member, err error) {
	ctx, cancel, err := e.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	each(len(ids), memberReads, func(from, to int) {
		if err == nil {
			var some []engine.Member
			some, err = e.members(ctx, ids[from:to])
			members = append(members, some...)
		}
	})
	return members, err
}

// members reads some registrations in one transaction.
func (e *Engine) members(ctx context.Context, ids []string) (members []engine.Member, _ error) {
	var ops []clientv3.Op
	for _, id := range ids {
		ops = append(ops, clientv3.OpGet(e.keys.member(id)))
	}
	resp, err := e.read(ctx, ids[0], "members", ops...)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		for _, kv := range kvsOf(resp.Responses[i]) {
			var r registration
			if json.Unmarshal(kv.Value, &r) == nil {
				members = append(members, engine.Member{ID: id, Name: r.Name, Host: r.Host, PID: r.PID, Since: r.Since})
			}
		}
	}
	return members, nil
}
