package redisengine

import (
	"context"

	"github.com/interlock-go/interlock/engine"
)

// Erase implements [engine.Eraser].
func (l ledger) Erase(ctx context.Context, key string) (engine.Record, error) {
	if err := l.usable(ctx); err != nil {
		return engine.Record{}, err
	}
	name, err := l.name(key)
	if err != nil {
		return engine.Record{}, err
	}
	c := l.call(eraseScript)
	defer c.free()
	c.keys(l.lockEntry(name), l.resultEntry(name), l.settledChannel(name))
	c.args(string(l.publish))
	reply, err := l.client.Eval(ctx, c)
	if err != nil {
		return engine.Record{}, l.explain(ctx, name, eraseScript, err)
	}
	if reply.List[0].Int == codeNotRecord {
		return engine.Record{}, notRecord(name)
	}
	was := parseRecord(key, reply.List[recordItems].Int, reply.List)
	was.Result = nil
	return was, nil
}
