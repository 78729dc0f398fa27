package redisengine

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Register implements [engine.Inspector].
func (e *Engine) Register(ctx context.Context, m engine.Member, life time.Duration) error {
	if err := e.usable(ctx); err != nil {
		return err
	}
	if m.ID == "" || life <= 0 {
		return fmt.Errorf("redis: the registration of client %q is incomplete: set an ID and a lifetime above zero", m.ID)
	}
	c := e.call(registerScript)
	defer c.free()
	c.keys(clientKey(m.ID))
	// Since is in UTC with nanoseconds, so that every process reads the same time.
	c.args(strconv.FormatInt(ceil(life), 10), "name", m.Name, "host", m.Host,
		"pid", strconv.Itoa(m.PID), "since", m.Since.UTC().Format(time.RFC3339Nano))
	if _, err := e.eval(ctx, c); err != nil {
		return e.explain(ctx, m.ID, registerScript, err)
	}
	return nil
}

// Members implements [engine.Inspector].
func (e *Engine) Members(ctx context.Context, ids []string) ([]engine.Member, error) {
	if err := e.usable(ctx); err != nil {
		return nil, err
	}
	var known []engine.Member
	for chunk := range slices.Chunk(ids, e.clientsPerCall()) {
		found, err := e.members(ctx, chunk)
		if err != nil {
			return nil, err
		}
		known = append(known, found...)
	}
	return known, nil
}

// clientsPerCall is how many clients one call may name: in a cluster each is in its own
// slot.
func (e *Engine) clientsPerCall() int {
	if e.cluster != nil {
		return 1
	}
	return maxPerCall
}

// members is Members for one call.
func (e *Engine) members(ctx context.Context, ids []string) (known []engine.Member, err error) {
	c := e.call(membersScript)
	defer c.free()
	for _, id := range ids {
		c.keys(clientKey(id))
	}
	reply, err := e.eval(ctx, c)
	// Four fields describe each client: name, host, PID and since.
	if err == nil && len(reply.List) != 4*len(ids) {
		err = fmt.Errorf("%d answers about %d clients", len(reply.List)/4, len(ids))
	}
	if err != nil {
		return nil, e.explain(ctx, ids[0], membersScript, err)
	}
	for i, id := range ids {
		fields := reply.List[4*i : 4*i+4]
		since, err := time.Parse(time.RFC3339Nano, fields[3].Text)
		if err != nil {
			continue // not registered, or other data
		}
		pid, _ := strconv.Atoi(fields[2].Text)
		known = append(known, engine.Member{ID: id, Name: fields[0].Text, Host: fields[1].Text, PID: pid, Since: since})
	}
	return known, nil
}

// Watch implements [engine.Inspector].
func (e *Engine) Watch(id string) (wake <-chan struct{}, stop func()) {
	return e.notifier.subscribe(clientKey(id))
}
