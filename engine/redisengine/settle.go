package redisengine

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// maxSharedResult is the largest result in a batch, in bytes: a larger one would delay
// the other settlements. docs/redis.md names the figure.
const maxSharedResult = 4 << 10

// outcomeLetters are the first characters of the terms that settle.lua parses; see
// renderSettlementTerms.
var outcomeLetters = [...]string{engine.Absent: "-", engine.Done: "d", engine.Failed: "f", engine.Unknown: "u"}

// sendSettle sends one settlement. missing is how many required replicas have not
// acknowledged it.
func (e *Engine) sendSettle(ctx context.Context, name string, s *engine.Settlement) (reply Reply, missing int, err error) {
	c := e.settleCall(name, s)
	defer c.free()
	return e.evalAcked(ctx, c)
}

// settleCall is a batch of one. undoClaim uses it without waiting for replicas.
func (e *Engine) settleCall(name string, s *engine.Settlement) *Call {
	c := e.call(settleScript)
	c.keys(e.lockEntry(name), e.resultEntry(name))
	e.settleArgs(c)
	c.args(entryAttempt(s.Attempt), e.renderSettlementTerms(s), payload(s))
	return c
}

// disclaim sends a settlement that abandons the claim.
func (e *Engine) disclaim(ctx context.Context, name string, s *engine.Settlement) (Reply, error) {
	c := e.call(disclaimScript)
	defer c.free()
	c.keys(e.lockEntry(name), e.resultEntry(name), e.recordChannel(name), e.claimTombstone(name, s.Attempt))
	c.args(entryAttempt(s.Attempt), string(e.mode()), e.tombstoneLife(s.Lease))
	return e.eval(ctx, c)
}

// settleArgs adds the arguments with which settle.lua publishes. In a cluster the number of
// subscribers is not known, because no node knows the subscribers of other nodes.
func (e *Engine) settleArgs(c *Call) {
	// settle.lua publishes nothing if the settle channel has no subscribers. That saves
	// most settlements a PUBLISH.
	numsub := "NUMSUB"
	switch {
	case e.cluster != nil:
		numsub = "-"
	case e.mode() == Sharded:
		numsub = "SHARDNUMSUB"
	}
	c.args(string(e.mode()), numsub, e.settleChannel, e.locks)
}

// settlementTerms is the part of a settlement that is usually the same throughout a
// program. Its last text is cached.
type settlementTerms struct {
	outcome   engine.State
	retain    time.Duration
	fromStart bool
}

// renderSettlementTerms renders the terms of a settlement for settle.lua.
func (e *Engine) renderSettlementTerms(s *engine.Settlement) string {
	return e.settleText.text(settlementTerms{s.Outcome, s.Retain, s.FromStart}, func(t settlementTerms) string {
		from := ""
		if t.fromStart {
			from = "@"
		}
		return outcomeLetters[t.outcome] + from + strconv.FormatInt(ceil(t.retain), 10)
	})
}

// payload returns the result that is stored.
func payload(s *engine.Settlement) string {
	if s.Outcome == engine.Done || s.Outcome == engine.Failed {
		return string(s.Result)
	}
	return ""
}

// parseOutcome reads the reply of settle.lua or disclaim.lua about one claim.
func (e *Engine) parseOutcome(ctx context.Context, name string, s *Script, reply Reply, err error) (engine.Outcome, error) {
	if err != nil {
		return 0, e.explain(ctx, name, s, err)
	}
	// A number is the answer to all claims of the call, a list has one answer for each.
	answer := reply.Int
	if reply.List != nil {
		answer = reply.List[0].Int
	}
	if o := engine.Outcome(answer); o <= engine.NotYours {
		return o, nil
	}
	return 0, notRecord(name)
}

// settleItem returns the item of a settlement.
func (e *Engine) settleItem(name string, s *engine.Settlement) *batchItem {
	item := batchItems.Get().(*batchItem)
	item.name, item.attempt, item.terms, item.result = name, entryAttempt(s.Attempt), e.renderSettlementTerms(s), payload(s)
	return item
}

// settleMany sends a batch of settlements and sets the answer of each item, which
// [Engine.parseOutcome] reads. If settle.lua answers 0, that settlement must be sent in a
// call of its own.
func (e *Engine) settleMany(batch []*batchItem) error {
	c := e.call(settleScript)
	defer c.free()
	e.settleArgs(c)
	for _, item := range batch {
		c.keys(e.lockEntry(item.name))
		c.args(item.attempt, item.terms, item.result)
	}
	for _, item := range batch {
		c.keys(e.resultEntry(item.name))
	}
	// The batch outlives the context of each caller; the client's timeout bounds it.
	reply, err := e.eval(context.Background(), c)
	if err != nil {
		return err
	}
	if reply.List != nil && len(reply.List) != len(batch) {
		return fmt.Errorf("%s: %d answers to %d settlements", c.Script.Name, len(reply.List), len(batch))
	}
	for i, item := range batch {
		item.answer = reply
		if reply.List != nil {
			item.answer = Reply{Int: reply.List[i].Int}
		}
	}
	return nil
}
