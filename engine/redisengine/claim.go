package redisengine

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// What claim.lua answers besides the states of a record, whose numbers are those
// of package engine.
const (
	codeClaimed = iota + int64(engine.Unknown) + 1
	codeClaimAbandoned
	codeMismatch
	codeNotRecord
	codeTakenOver
)

// recordItems is how many items there are to what is told about a record.
const recordItems = 6

// lateClaim is when c comes too late, as [Engine.late] is for a request.
func (e *Engine) claimDeadline(c *engine.Claim) int64 {
	if c.Retry || e.cluster != nil { // whose nodes have a clock each
		return 0
	}
	return e.clock.after(e.timeout)
}

func isLateClaim(reply Reply) bool { return len(reply.List) == 1 }

// tryClaim sends a claim by itself. With late zero the server looks for a
// tombstone.
func (e *Engine) sendClaim(ctx context.Context, name string, c *engine.Claim, late int64) (reply Reply, missing int, err error) {
	call := e.call(claimScript)
	defer call.free()
	call.keys(e.lockEntry(name), e.resultEntry(name))
	if late == 0 {
		call.keys(e.claimTombstone(name, c.Attempt))
	}
	call.args(e.clock.text(late), entrySuffix(c), e.claimTerms(c))
	reply, missing, err = e.evalAcked(ctx, call)
	if err == nil {
		e.clock.observe(claimTime(reply))
	}
	return reply, missing, err
}

// claimTime is when an answer of claim.lua was given.
func claimTime(reply Reply) int64 {
	if reply.List != nil {
		return reply.List[0].Int
	}
	return reply.Int
}

// ending is what the entry of a claim ends with: who made it, and for what. Their
// lengths come first, so they may be anything.
func entrySuffix(c *engine.Claim) string {
	return string(appendSized(appendSized(make([]byte, 0, 128), c.Attempt), c.Fingerprint))
}

// who is an attempt as it stands in an entry.
func entryAttempt(attempt string) string {
	return string(appendSized(make([]byte, 0, 64), attempt))
}

// measured appends text behind its length.
func appendSized(b []byte, text string) []byte {
	b = strconv.AppendInt(b, int64(len(text)), 10)
	b = append(b, ':')
	return append(b, text...)
}

// terms are texts that differ little from call to call: the last is remembered.
type lastText[T comparable] struct{ last atomic.Pointer[rendered[T]] }

type rendered[T comparable] struct {
	of   T
	text string
}

func (t *lastText[T]) text(of T, write func(T) string) string {
	if w := t.last.Load(); w != nil && w.of == of {
		return w.text
	}
	w := &rendered[T]{of, write(of)}
	t.last.Store(w)
	return w.text
}

type claimTerms struct {
	lease, retain time.Duration
	take          bool
}

// claimTerms are the terms of a claim, as claim.lua reads them.
func (e *Engine) claimTerms(c *engine.Claim) string {
	return e.claimText.text(claimTerms{c.Lease, c.Retain, c.TakeOver}, func(t claimTerms) string {
		take := 0
		if t.take {
			take = 1
		}
		return fmt.Sprintf("%d %d %d", ceil(t.lease), ceil(t.retain), take)
	})
}

// claimed reads what became of a claim: the fence, which is also the time, if it
// was simply granted, and otherwise what claim.lua says about it.
func parseClaim(name string, c *engine.Claim, now int64, about []Item) (engine.Record, error) {
	if about == nil {
		return engine.Record{
			Key: c.Key, State: engine.Running, Granted: true, Fence: uint64(now), Began: micros(now),
			Left: c.Lease, Fingerprint: c.Fingerprint,
		}, nil
	}
	switch about[0].Int {
	case codeClaimAbandoned:
		return engine.Record{}, abandonedError(name)
	case codeMismatch:
		return engine.Record{}, fail(name, "it was claimed for something else", engine.ErrMismatch)
	case codeNotRecord:
		return engine.Record{}, notRecord(name)
	}
	return parseRecord(c.Key, now, about), nil
}

// boardClaim makes a passenger of a claim.
func (e *Engine) claimItem(name string, c *engine.Claim, late int64) *batchItem {
	p := batchItems.Get().(*batchItem)
	p.name, p.attempt, p.terms, p.deadline = name, entrySuffix(c), e.claimTerms(c), late
	return p
}

// claimMany makes the claims of a batch. The answer of each is what [claimed]
// reads, or nothing if the call came too late.
func (e *Engine) claimMany(batch []*batchItem) error {
	c := e.call(claimScript)
	defer c.free()
	late := int64(math.MaxInt64)
	c.args("")
	for _, p := range batch {
		late = min(late, p.deadline)
		c.keys(e.lockEntry(p.name))
		c.args(p.attempt, p.terms)
	}
	for _, p := range batch {
		c.keys(e.resultEntry(p.name))
	}
	c.Args[0] = e.clock.text(late)
	reply, err := e.client.Eval(context.Background(), c)
	if err != nil {
		return err
	}
	now := claimTime(reply)
	e.clock.observe(now)
	if isLateClaim(reply) {
		return nil
	}
	for _, p := range batch {
		p.answer.Int = now
	}
	for i := 1; i+recordItems < len(reply.List); i += 1 + recordItems {
		at := reply.List[i].Int
		if at < 1 || at > int64(len(batch)) {
			return fmt.Errorf("%s: there is no claim number %d", c.Script.Name, at)
		}
		batch[at-1].answer.List = reply.List[i+1 : i+1+recordItems]
	}
	return nil
}
