package etcd

import (
	"context"
	"crypto/rand"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/interlock-go/interlock/engine"
)

var _ engine.Incarnations = (*Engine)(nil)

// Connections implements [engine.Incarnations]. The engine does not know how often its
// client has connected.
func (e *Engine) Connections() uint64 { return 0 }

// Incarnation implements [engine.Incarnations]. The first client writes a random name, which is
// lost with the data of the cluster. The name does not show that a cluster was restored
// from a backup, but the ID of the cluster does, if the restore sets another token.
func (e *Engine) Incarnation(ctx context.Context) (engine.Incarnation, error) {
	ctx, cancel, err := e.begin(ctx)
	if err != nil {
		return engine.Incarnation{}, err
	}
	defer cancel()
	for {
		resp, err := e.read(ctx, "incarnation", "incarnation", clientv3.OpGet(e.keys.incarnation()))
		if err != nil {
			return engine.Incarnation{}, err
		}
		for _, kv := range kvsOf(resp.Responses[0]) {
			age, err := e.age(ctx, "incarnation", clientv3.LeaseID(kv.Lease))
			return engine.Incarnation{ID: fmt.Sprintf("%s-%x", kv.Value, resp.Header.ClusterId), Age: age}, err
		}
		age, err := e.newAge(ctx, "incarnation")
		if err != nil {
			return engine.Incarnation{}, err
		}
		resp, err = e.commit(ctx, &change{
			name: "incarnation", operation: "new-incarnation", when: []clientv3.Cmp{absent(e.keys.incarnation())},
			do: []clientv3.Op{clientv3.OpPut(e.keys.incarnation(), rand.Text(), clientv3.WithLease(age.id))},
		})
		if err != nil {
			e.discard(ctx, err, age)
			return engine.Incarnation{}, err
		}
		if !resp.Succeeded { // another client has written the name
			e.revoke(ctx, age.id)
		}
	}
}
