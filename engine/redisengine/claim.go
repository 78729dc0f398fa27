package redisengine

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// The codes that claim.lua returns in addition to the states of package engine. Their
// numbers follow those of the states.
const (
	codeClaimed = iota + int64(engine.Unknown) + 1
	codeClaimAbandoned
	codeMismatch
	codeNotRecord
	codeTakenOver
)

// recordItems is the number of items that describe a record; see record_reply.lua.
const recordItems = 6

// isLateClaim reports whether the call arrived after its deadline. Then claim.lua returns
// only the time.
func isLateClaim(reply Reply) bool { return len(reply.List) == 1 }

// sendClaim sends one claim. With a deadline of zero, the server reads the tombstone.
func (e *Engine) sendClaim(ctx context.Context, name string, c *engine.Claim, deadline int64) (reply Reply, missing int, err error) {
	call := e.call(claimScript)
	defer call.free()
	call.keys(e.lockEntry(name), e.resultEntry(name))
	if deadline == 0 {
		call.keys(e.claimTombstone(name, c.Attempt))
	}
	call.args(e.clock.text(deadline), entrySuffix(c), e.renderClaimTerms(c))
	if deadline != 0 {
		call.late = e.lateClaim(name, c)
	}
	reply, missing, err = e.evalAcked(ctx, call)
	if err == nil {
		e.clock.observe(claimTime(reply))
	}
	return reply, missing, err
}

// claimTime returns the server time of a reply of claim.lua, in µs.
func claimTime(reply Reply) int64 {
	if reply.List != nil {
		return reply.List[0].Int
	}
	return reply.Int
}

// entrySuffix returns the end of a claim's entry: its attempt and its fingerprint,
// each after its length, since they may have any bytes.
func entrySuffix(c *engine.Claim) string {
	return string(appendSized(appendSized(make([]byte, 0, 128), c.Attempt), c.Fingerprint))
}

// entryAttempt returns an attempt as an entry stores it.
func entryAttempt(attempt string) string {
	return string(appendSized(make([]byte, 0, 64), attempt))
}

// appendSized appends a text after its length.
func appendSized(b []byte, text string) []byte {
	b = strconv.AppendInt(b, int64(len(text)), 10)
	b = append(b, ':')
	return append(b, text...)
}

// claimTerms is the part of a claim that is usually the same throughout a program. Its
// last text is cached.
type claimTerms struct {
	lease, retain time.Duration
	takeOver      bool
}

// renderClaimTerms renders the terms of a claim for claim.lua.
func (e *Engine) renderClaimTerms(c *engine.Claim) string {
	return e.claimText.text(claimTerms{c.Lease, c.Retain, c.TakeOver}, func(t claimTerms) string {
		return fmt.Sprintf("%d %d %s", ceil(t.lease), ceil(t.retain), boolArg(t.takeOver))
	})
}

// parseClaim reads the answer to one claim. Without a description, the claim was granted,
// and its fence is now, the server's time in µs. Otherwise description describes the record
// at the key.
func parseClaim(name string, c *engine.Claim, now int64, description []Item) (engine.Record, error) {
	if description == nil {
		return engine.Record{
			Key: c.Key, State: engine.Running, Granted: true, Fence: uint64(now), Began: micros(now),
			Left: c.Lease, Fingerprint: c.Fingerprint,
		}, nil
	}
	switch description[0].Int {
	case codeClaimAbandoned:
		return engine.Record{}, abandonedError(name)
	case codeMismatch:
		return engine.Record{}, fail(name, "the key was claimed with another fingerprint", engine.ErrMismatch)
	case codeNotRecord:
		return engine.Record{}, notRecord(name)
	}
	return parseRecord(c.Key, now, description), nil
}

// claimItem returns the item of a claim.
func (e *Engine) claimItem(name string, c *engine.Claim, deadline int64) *batchItem {
	item := batchItems.Get().(*batchItem)
	item.name, item.attempt, item.terms, item.deadline = name, entrySuffix(c), e.renderClaimTerms(c), deadline
	return item
}

// claimMany sends a batch of claims and sets the answer of each item, which [parseClaim]
// reads. If the batch arrives after its deadline, the answers stay empty.
func (e *Engine) claimMany(batch []*batchItem) error {
	c := e.call(claimScript)
	defer c.free()
	deadline := int64(math.MaxInt64)
	c.args("")
	for _, item := range batch {
		deadline = min(deadline, item.deadline)
		c.keys(e.lockEntry(item.name))
		c.args(item.attempt, item.terms)
	}
	for _, item := range batch {
		c.keys(e.resultEntry(item.name))
	}
	c.Args[0] = e.clock.text(deadline)
	reply, err := e.eval(context.Background(), c)
	if err != nil {
		return err
	}
	now := claimTime(reply)
	e.clock.observe(now)
	// The answers stay empty, so each caller sends its claim alone.
	if isLateClaim(reply) {
		return nil
	}
	for _, item := range batch {
		item.answer.Int = now
	}
	for i := 1; i+recordItems < len(reply.List); i += 1 + recordItems {
		at := reply.List[i].Int
		if at < 1 || at > int64(len(batch)) {
			return fmt.Errorf("%s: the reply names claim %d of %d", c.Script.Name, at, len(batch))
		}
		// The items share the reply and only read it.
		batch[at-1].answer.List = reply.List[i+1 : i+1+recordItems]
	}
	return nil
}
