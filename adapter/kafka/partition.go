package interlockkafka

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A partition is a partition of a topic that the client owns. One goroutine processes its
// records; it ends when the partition is revoked or lost, or the consumer shuts down.
type partition struct {
	topic  string
	number int32
	cancel context.CancelFunc // ends the goroutine, but not a running handler
	ended  chan struct{}
	wake   chan struct{} // has a token if queue may have records

	queue []*kgo.Record // guarded by partitions.mu, as are the next fields
	idle  bool          // all records are processed, and fetching is not paused
	lost  bool          // another client may own the partition: commit nothing
}

// names returns the partition in the form that kgo takes.
func (p *partition) names() map[string][]int32 { return map[string][]int32{p.topic: {p.number}} }

// partitions are the partitions that the client owns and has fetched records of.
type partitions struct {
	mu    sync.Mutex
	owned map[string]map[int32]*partition
}

// all returns all partitions.
func (ps *partitions) all() []*partition {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	var all []*partition
	for _, numbers := range ps.owned {
		all = slices.AppendSeq(all, maps.Values(numbers))
	}
	return all
}

// remove removes partitions and returns them. lost says that nothing may be committed.
func (ps *partitions) remove(names map[string][]int32, lost bool) []*partition {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	var removed []*partition
	for topic, numbers := range names {
		for _, n := range numbers {
			if p := ps.owned[topic][n]; p != nil {
				p.lost = lost
				removed = append(removed, p)
				delete(ps.owned[topic], n)
			}
		}
	}
	return removed
}

// add queues fetched records of one partition, and pauses fetching it until they are
// processed, so that no more than that is in memory.
func (c *Consumer) add(cl *kgo.Client, records []*kgo.Record) {
	ps := &c.partitions
	ps.mu.Lock()
	defer ps.mu.Unlock()
	topic, number := records[0].Topic, records[0].Partition
	p := ps.owned[topic][number]
	if p == nil {
		ctx, cancel := context.WithCancel(context.Background())
		p = &partition{topic: topic, number: number, cancel: cancel, ended: make(chan struct{}), wake: make(chan struct{}, 1), idle: true}
		if ps.owned == nil {
			ps.owned = map[string]map[int32]*partition{}
		}
		if ps.owned[topic] == nil {
			ps.owned[topic] = map[int32]*partition{}
		}
		ps.owned[topic][number] = p
		go c.work(ctx, cl, p)
	}
	if p.idle {
		p.idle = false
		cl.PauseFetchPartitions(p.names())
	}
	p.queue = append(p.queue, records...)
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// work processes the records of a partition until ctx is done.
func (c *Consumer) work(ctx context.Context, cl *kgo.Client, p *partition) {
	defer close(p.ended)
	for {
		for records := c.take(cl, p); len(records) > 0; records = c.take(cl, p) {
			for _, r := range records {
				if !c.process(ctx, r) {
					return
				}
				c.mark(cl, p, r)
			}
		}
		select {
		case <-p.wake:
		case <-ctx.Done():
			return
		}
	}
}

// take returns the queued records. If there are none, fetching goes on, unless the partition
// was lost: then its next goroutine in this process may have paused it.
func (c *Consumer) take(cl *kgo.Client, p *partition) []*kgo.Record {
	c.partitions.mu.Lock()
	defer c.partitions.mu.Unlock()
	records := p.queue
	p.queue = nil
	if len(records) == 0 && !p.idle && !p.lost {
		p.idle = true
		cl.ResumeFetchPartitions(p.names())
	}
	return records
}

// mark lets the client commit the offset of a record, unless the partition was lost.
func (c *Consumer) mark(cl *kgo.Client, p *partition, r *kgo.Record) {
	c.partitions.mu.Lock()
	defer c.partitions.mu.Unlock()
	if !p.lost {
		cl.MarkCommitRecords(r)
	}
}

// stop ends the goroutines of all partitions, and waits for their running handlers. The
// partitions stay owned, because they may be revoked or lost meanwhile.
func (c *Consumer) stop() {
	owned := c.partitions.all()
	for _, p := range owned {
		p.cancel()
	}
	for _, p := range owned {
		<-p.ended
	}
}

// revoked is called before other clients get the partitions. The running handlers have half of
// the rebalance timeout to end. The rest is for the commit.
func (c *Consumer) revoked(ctx context.Context, cl *kgo.Client, names map[string][]int32) {
	removed := c.partitions.remove(names, false)
	for _, p := range removed {
		p.cancel()
	}
	limit := time.NewTimer(rebalanceTimeout(cl) / 2)
	defer limit.Stop()
	for _, p := range removed {
		select {
		case <-p.ended:
		case <-limit.C:
			limit.Reset(0) // for the next partition
			c.log.Warn("interlockkafka: a handler still runs while its partition is revoked; the next owner waits for it", "topic", p.topic, "partition", p.number)
		}
		c.partitions.mu.Lock()
		p.lost = true // from now on
		c.partitions.mu.Unlock()
	}
	cl.ResumeFetchPartitions(names)
	if err := cl.CommitMarkedOffsets(ctx); err != nil {
		c.log.Warn("interlockkafka: committing the offsets of revoked partitions failed; their records come again, and are found done", "error", err)
	}
}

// lost is called when other clients may have the partitions already.
func (c *Consumer) lost(_ context.Context, cl *kgo.Client, names map[string][]int32) {
	for _, p := range c.partitions.remove(names, true) {
		p.cancel()
	}
	cl.ResumeFetchPartitions(names)
}

func rebalanceTimeout(cl *kgo.Client) time.Duration {
	d, _ := cl.OptValue(kgo.RebalanceTimeout).(time.Duration)
	return d
}
