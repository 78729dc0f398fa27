package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/quorum"
	"github.com/interlock-go/interlock/engine/redisengine"
)

const (
	// maxQuorumCost is the target: a lock on five nodes may cost at most that multiple of
	// its cost on one node.
	maxQuorumCost = 1.3

	// networkDelay is the network delay that every call to a node has.
	networkDelay = time.Millisecond

	oneRow  = "one node"
	fiveRow = "quorum of 5"
)

// nodes are servers with equal delays.
type nodes struct{ servers []*server }

func startNodes(ctx context.Context, n int) (*nodes, error) {
	all := new(nodes)
	for range n {
		s, err := start(ctx)
		if err != nil {
			all.end()
			return nil, err
		}
		all.servers = append(all.servers, s)
	}
	return all, nil
}

func (n *nodes) end() {
	for _, s := range n.servers {
		s.end()
	}
}

// contenders returns the rows of the table: the same locks on one, three and five nodes.
func (n *nodes) contenders() []contender {
	return []contender{
		n.nodesContender(oneRow, 1),
		n.nodesContender(oneRow+", fenced", 1, fenced...),
		n.nodesContender("quorum of 3", 3),
		n.nodesContender(fiveRow, 5),
		n.nodesContender(fiveRow+", fenced", 5, fenced...),
	}
}

// nodesContender returns Interlock as a program uses it, on the first count nodes.
func (n *nodes) nodesContender(name string, count int, opts ...interlock.Option) contender {
	open := func(ctx context.Context, _ string) (locks, error) {
		e, end, err := n.join(ctx, count)
		if err != nil {
			return locks{}, err
		}
		c := interlock.New(e, append(opts, interlock.Prefix(name+":"))...)
		return locks{
			cycle: func(ctx context.Context, key string) error {
				_, hold, err := c.Mutex(key).Lock(ctx)
				if err != nil {
					return err
				}
				return hold.Unlock()
			},
			close: func() {
				_ = c.Close(context.Background())
				end()
			},
		}, nil
	}
	return contender{name: name, sends: scriptCalls, open: open}
}

// join returns one engine on count nodes, and a function that closes it.
func (n *nodes) join(ctx context.Context, count int) (engine.Engine, func(), error) {
	var parts []engine.Engine
	end := func() {
		for _, p := range parts {
			_ = p.(delayed).Close()
		}
	}
	for _, s := range n.servers[:count] {
		e, err := redisengine.Open(ctx, "redis://"+s.addr)
		if err != nil {
			end()
			return nil, nil, err
		}
		parts = append(parts, delayed{e})
	}
	if count == 1 {
		return parts[0], end, nil
	}
	// Durable is safe: the servers are new, so they cannot have lost a grant.
	q, err := quorum.New(parts, quorum.Durable())
	if err != nil {
		end()
		return nil, nil, err
	}
	return q, func() {
		_ = q.Close()
		end()
	}, nil
}

// measureQuorum measures the cost of a majority vote.
func (p plan) measureQuorum(ctx context.Context, out io.Writer, g int, b *targets) error {
	n, err := startNodes(ctx, 5)
	if err != nil {
		return err
	}
	defer n.end()
	f, err := openAll(ctx, n.servers[0], n.contenders())
	if err != nil {
		return err
	}
	defer f.closeAll()
	f.base = oneRow
	if err := p.rotate(ctx, f, g); err != nil {
		return err
	}
	if r := f.find(fiveRow); r != nil && len(r.ratio) > 0 {
		cost := 1 / median(r.ratio)
		b.check(cost <= maxQuorumCost, "at %d goroutines, with a delay of %v to every node, a lock on five nodes costs at most %.1f× a lock on one: %.2f×",
			g, networkDelay, maxQuorumCost, cost)
	}
	quorumTable(f, g, p).print(out)
	return nil
}

func quorumTable(f *group, g int, p plan) *table {
	t := &table{
		title:   fmt.Sprintf("Quorum, uncontended, a delay of %v to every node: %d goroutines", networkDelay, g),
		columns: []string{"", "cycles/s", "cost × one node", "range", "p50 µs", "p99 µs", "allocs/cycle"},
	}
	var foreign []float64
	for _, r := range f.rows {
		foreign = append(foreign, r.foreign...)
		costs := make([]float64, len(r.ratio))
		for i, x := range r.ratio {
			costs[i] = 1 / x
		}
		t.add(r.name, thousands(median(r.rate)), ratio(costs), span(costs, "%.2f"),
			micros(r.latency.at(0.5)), micros(r.latency.at(0.99)), per(float64(r.mallocs), r.cycles))
	}
	t.remark = fmt.Sprintf("%d rounds; each contender runs for %v per round. A fenced lock on several nodes takes two round trips. %s%s",
		p.rounds, p.slice, otherLoad(foreign), f.failureText())
	return t
}
