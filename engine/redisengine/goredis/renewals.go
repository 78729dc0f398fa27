package goredis

import (
	"context"
	"errors"
	"math/bits"
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
	// call of its own, so thousands of calls may come at once.
	maxPipeline = 512

	// firstShare is the part of the time left, as 1/n, after which a renewal without an
	// answer is sent again. The second connection is new, so it needs the longer part.
	firstShare = 3
)

// renewals sends renewals on connections of its own, so that neither a busy pool nor a
// silent connection of the caller's client costs a lock. Renewals that meet share a
// pipeline for each server. Renewing twice does no harm.
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

	// Renewals of about the same time left share a queue: a short lease must not end the
	// pipeline of long ones, nor wait for it.
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
	reply    redisengine.Reply
	err      error
	done     chan struct{} // closed when reply and err are set
}

// send sends a renewal to the server of the caller's client. It returns with the answer,
// or when ctx is done.
func (r *renewals) send(ctx context.Context, caller *redis.Client, call *redisengine.Call) (redisengine.Reply, error) {
	deadline, _ := ctx.Deadline() // Eval has set one
	item := &renewal{args: arguments("evalsha", call.Script.SHA, call), script: call.Script, deadline: deadline, done: make(chan struct{})}
	if !r.enqueue(caller, item) {
		return redisengine.Reply{}, classify(redis.ErrClosed)
	}
	select {
	case <-item.done:
		return item.reply, item.err
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

// server returns the server of the caller's client. It has no connection yet when it is
// new.
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

// sendQueue sends one pipeline after the other until the queue is empty.
func (r *renewals) sendQueue(s *renewalServer, q *renewalQueue) {
	for {
		r.mu.Lock()
		n := min(len(q.pending), maxPipeline)
		if n == 0 {
			q.senders, q.pending = q.senders-1, nil
			r.mu.Unlock()
			return
		}
		batch := q.pending[:n:n]
		q.pending = q.pending[n:]
		client := s.client
		r.mu.Unlock()
		r.sendBatch(s, client, batch)
		for _, item := range batch {
			close(item.done)
		}
	}
}

// sendBatch sends a pipeline, and what has no answer once more on a new connection.
func (r *renewals) sendBatch(s *renewalServer, client *redis.Client, batch []*renewal) {
	deadline := batch[0].deadline
	for _, item := range batch {
		if item.deadline.After(deadline) {
			deadline = item.deadline
		}
	}
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	share := time.Until(deadline) / firstShare
	soon, stop := context.WithTimeout(ctx, share)
	defer stop()
	if s.caller != nil {
		// The caller's client is the first to follow a failover. The engine's own connection
		// may still lead to the old primary, which does not know new locks.
		if batch = pipeline(soon, s.caller.WithTimeout(share), batch); len(batch) > 0 {
			pipeline(ctx, client, batch)
		}
		return
	}
	if batch = pipeline(soon, client, batch); len(batch) > 0 {
		pipeline(ctx, r.replace(s, client), batch)
	}
}

// replace closes a client and all its connections, which may be silent as well, and
// returns the one that follows it.
func (r *renewals) replace(s *renewalServer, silent *redis.Client) *redis.Client {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.client == silent && !r.closed {
		s.client = renewalClient(silent)
		_ = silent.Close()
	}
	return s.client
}

// pipeline sends renewals in one pipeline, and returns those without an answer.
func pipeline(ctx context.Context, client *redis.Client, batch []*renewal) (unanswered []*renewal) {
	var unknown []*renewal
	for _, item := range exec(ctx, client, batch, func(item *renewal) []any { return item.args }) {
		var answer redisengine.ReplyError
		switch {
		case redisengine.NoScript(item.err):
			unknown = append(unknown, item)
		case !errors.As(item.err, &answer):
			unanswered = append(unanswered, item)
		}
	}
	// A pipeline runs in order, so the first text of each script makes its hash known.
	texts := make(map[*redisengine.Script]bool)
	for _, item := range exec(ctx, client, unknown, func(item *renewal) []any {
		if texts[item.script] {
			return item.args
		}
		texts[item.script] = true
		return append([]any{"eval", item.script.Text}, item.args[2:]...)
	}) {
		var answer redisengine.ReplyError
		if !errors.As(item.err, &answer) {
			unanswered = append(unanswered, item)
		}
	}
	return unanswered
}

// exec sends a pipeline, sets the result of each renewal, and returns those with an error.
func exec(ctx context.Context, client *redis.Client, batch []*renewal, args func(*renewal) []any) (failed []*renewal) {
	if len(batch) == 0 {
		return nil
	}
	pipe, cmds := client.Pipeline(), make([]*redis.Cmd, len(batch))
	for i, item := range batch {
		cmds[i] = pipe.Do(ctx, args(item)...)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for i, item := range batch {
		if err := cmds[i].Err(); err != nil {
			item.reply, item.err = redisengine.Reply{}, classify(err)
		} else {
			item.reply, item.err = read(cmds[i].Val())
		}
		if item.err != nil {
			failed = append(failed, item)
		}
	}
	return failed
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
