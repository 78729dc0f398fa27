package goredis

import (
	"context"
	"errors"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/engine/redisengine"
)

const (
	// maxRenewalConns is how many connections to each server the engine has for renewals:
	// one may be silent or busy while another is used.
	maxRenewalConns = 2

	// maxPipeline is how many renewals share a pipeline. In a cluster each slot needs a
	// call of its own, so there may be thousands of calls at once.
	maxPipeline = 512

	// firstShare divides the time left: a renewal without an answer is sent again after
	// 1/firstShare of it. The second connection is new, so it needs the longer part.
	firstShare = 3
)

// renewals sends renewals on connections of its own, so that neither a busy pool nor a
// silent connection of the caller's client costs a lock. Concurrent renewals of one server
// share a pipeline. Renewing twice does no harm.
type renewals struct {
	// spawn runs a function in a goroutine that Close waits for. It reports false after
	// Close.
	spawn func(func()) bool

	mu      sync.Mutex
	closed  bool
	servers map[string]*renewalServer // by address
}

// A renewalServer has the connections and pending renewals of one server.
type renewalServer struct {
	caller *redis.Client // the caller's client, if it is behind sentinels; otherwise nil
	client *redis.Client // replaced with all its connections when one does not answer

	// Renewals with about the same time left share a queue: a renewal with little time must
	// neither end the pipeline of the others nor wait for it.
	queues map[int]*renewalQueue
}

// A renewalQueue has the renewals that wait for a pipeline.
type renewalQueue struct {
	pending []*renewal
	senders int // goroutines that send pipelines
}

// A renewal is one call.
type renewal struct {
	args     []any // EVALSHA with its arguments
	script   *redisengine.Script
	deadline time.Time
	answer   chan renewed // has a buffer for the answer
}

// A renewed value is the result of a renewal.
type renewed struct {
	reply redisengine.Reply
	err   error
}

// send sends a renewal to the server of the caller's client. It returns with the answer,
// or when ctx is done.
func (r *renewals) send(ctx context.Context, caller *redis.Client, call *redisengine.Call) (redisengine.Reply, error) {
	deadline, _ := ctx.Deadline() // Eval has set one
	item := &renewal{args: arguments("evalsha", call.Script.SHA, call), script: call.Script, deadline: deadline, answer: make(chan renewed, 1)}
	if !r.enqueue(caller, item) {
		return redisengine.Reply{}, classify(redis.ErrClosed)
	}
	select {
	case got := <-item.answer:
		return got.reply, got.err
	case <-ctx.Done():
		return redisengine.Reply{}, ctx.Err()
	}
}

// enqueue adds a renewal to its queue, and starts a sender unless there are enough. It
// reports false after Close.
func (r *renewals) enqueue(caller *redis.Client, item *renewal) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	s := r.server(caller)
	class := bits.Len64(uint64(max(time.Until(item.deadline).Milliseconds(), 0)))
	q := s.queues[class]
	if q == nil {
		q = new(renewalQueue)
		s.queues[class] = q
	}
	q.pending = append(q.pending, item)
	if q.senders < maxRenewalConns {
		q.senders++
		return r.spawn(func() { r.sendQueue(s, q) })
	}
	return true
}

// server returns the renewalServer of the caller's client. A new one has no connection yet.
func (r *renewals) server(caller *redis.Client) *renewalServer {
	addr := caller.Options().Addr
	s := r.servers[addr]
	if s == nil {
		s = &renewalServer{client: renewalClient(caller), queues: make(map[int]*renewalQueue)}
		if addr == failoverAddr {
			s.caller = caller
		}
		if r.servers == nil {
			r.servers = make(map[string]*renewalServer)
		}
		r.servers[addr] = s
	}
	return s
}

// renewalClient returns a client of the same server with a few connections. Its calls end
// with their context; the caller's timeouts do not apply.
func renewalClient(caller *redis.Client) *redis.Client {
	opt := *caller.Options()
	opt.PoolSize, opt.MaxActiveConns, opt.MinIdleConns, opt.MaxIdleConns = maxRenewalConns, 0, 0, maxRenewalConns
	opt.PipelinePoolSize = -1
	opt.ContextTimeoutEnabled, opt.ReadTimeout, opt.WriteTimeout = true, -1, -1
	// A renewal must fail while there is time for another one.
	opt.DialerRetries, opt.MaxRetries = 1, -1
	opt.PushNotificationProcessor = nil // it belongs to the caller's client
	if opt.Addr == failoverAddr {
		followSentinels(&opt)
	}
	return redis.NewClient(&opt)
}

// sendQueue sends one pipeline after the other until the queue is empty. It drops renewals
// whose callers have given up.
func (r *renewals) sendQueue(s *renewalServer, q *renewalQueue) {
	for {
		r.mu.Lock()
		var batch []*renewal
		for len(q.pending) > 0 && len(batch) < maxPipeline {
			if item := q.pending[0]; time.Now().Before(item.deadline) {
				batch = append(batch, item)
			}
			q.pending = q.pending[1:]
		}
		if len(batch) == 0 {
			q.senders, q.pending = q.senders-1, nil
			r.mu.Unlock()
			return
		}
		client := s.client
		r.mu.Unlock()
		for i, got := range r.sendBatch(s, client, batch) {
			batch[i].answer <- got
		}
	}
}

// sendBatch sends a pipeline. If it is not answered soon, it is sent once more on a new
// connection, and the first complete answer counts.
func (r *renewals) sendBatch(s *renewalServer, client *redis.Client, batch []*renewal) []renewed {
	deadline := batch[0].deadline
	for _, item := range batch {
		if item.deadline.After(deadline) {
			deadline = item.deadline
		}
	}
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	answers := make(chan []renewed, 2)
	var tries sync.WaitGroup
	defer tries.Wait()
	defer cancel()
	share := time.Until(deadline) / firstShare
	tries.Go(func() {
		if s.caller == nil {
			answers <- pipeline(ctx, client, batch)
			return
		}
		// The caller's client is the first to follow a failover. The engine's own connection
		// may still lead to the old primary, which does not know new locks. The caller's
		// connection ends with a timeout, since it may ignore ctx.
		conn := s.caller.WithTimeout(share).Conn() // Pipeline alone would use another pool
		defer func() { _ = conn.Close() }()
		answers <- pipeline(ctx, conn, batch)
	})
	soon := time.NewTimer(share)
	defer soon.Stop()
	var earlier []renewed
	select {
	case earlier = <-answers:
		if complete(earlier) {
			return earlier
		}
	case <-soon.C:
	}
	second := client
	if s.caller == nil {
		second = r.replace(s, client)
		defer func() { _ = client.Close() }() // ends a try without an answer
	}
	tries.Go(func() { answers <- pipeline(ctx, second, batch) })
	latest := <-answers
	if earlier == nil && !complete(latest) {
		earlier, latest = latest, <-answers
	}
	for i := range earlier {
		if !answered(latest[i].err) {
			latest[i] = earlier[i]
		}
	}
	return latest
}

// replace replaces a client whose connections may all be silent, and returns the new one.
func (r *renewals) replace(s *renewalServer, silent *redis.Client) *redis.Client {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.client == silent && !r.closed {
		s.client = renewalClient(silent)
	}
	return s.client
}

// A pipeliner is a client or a connection.
type pipeliner interface{ Pipeline() redis.Pipeliner }

// pipeline sends renewals in one pipeline. Those with an unknown script are sent again with
// its text.
func pipeline(ctx context.Context, client pipeliner, batch []*renewal) []renewed {
	all := make([][]any, len(batch))
	for i, item := range batch {
		all[i] = item.args
	}
	got := exec(ctx, client, all)
	var unknown []int
	var texts [][]any
	known := make(map[*redisengine.Script]bool)
	for i, item := range batch {
		if !redisengine.NoScript(got[i].err) {
			continue
		}
		args := item.args
		// A pipeline runs in order, so the first text of a script makes its hash known.
		if !known[item.script] {
			args = append([]any{"eval", item.script.Text}, args[2:]...)
		}
		known[item.script] = true
		unknown, texts = append(unknown, i), append(texts, args)
	}
	if len(unknown) > 0 {
		for at, again := range exec(ctx, client, texts) {
			got[unknown[at]] = again
		}
	}
	return got
}

// exec sends a pipeline and returns the result of each command.
func exec(ctx context.Context, client pipeliner, commands [][]any) []renewed {
	pipe, cmds := client.Pipeline(), make([]*redis.Cmd, len(commands))
	for i, args := range commands {
		cmds[i] = pipe.Do(ctx, args...)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	got := make([]renewed, len(commands))
	for i, cmd := range cmds {
		if err := cmd.Err(); err != nil {
			got[i].err = classify(err)
		} else {
			got[i].reply, got[i].err = read(cmd.Val())
		}
	}
	return got
}

// complete reports whether the server has answered every renewal.
func complete(all []renewed) bool {
	return !slices.ContainsFunc(all, func(r renewed) bool { return !answered(r.err) })
}

// answered reports whether err is nil or an error reply.
func answered(err error) bool {
	var reply redisengine.ReplyError
	return err == nil || errors.As(err, &reply)
}

// close closes the connections, which ends pending pipelines.
func (r *renewals) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	var errs []error
	for _, s := range r.servers {
		errs = append(errs, s.client.Close())
	}
	return errors.Join(errs...)
}
