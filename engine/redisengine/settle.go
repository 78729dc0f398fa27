package redisengine

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// maxSharedResult is how large a result may be to share a trip, in bytes: others would
// wait for it.
const maxSharedResult = 4 << 10

// outcomes are the states as settle.lua knows them.
var outcomeLetters = [...]string{engine.Absent: "-", engine.Done: "d", engine.Failed: "f", engine.Unknown: "u"}

// trySettle sends a settlement by itself.
func (e *Engine) sendSettle(ctx context.Context, name string, s *engine.Settlement) (reply Reply, missing int, err error) {
	c := e.settleCall(name, s)
	defer c.free()
	return e.evalAcked(ctx, c)
}

func (e *Engine) settleCall(name string, s *engine.Settlement) *Call {
	c := e.call(settleScript)
	c.keys(e.lockEntry(name), e.resultEntry(name))
	e.settleArgs(c)
	c.args(entryAttempt(s.Attempt), e.settlementTerms(s), payload(s))
	return c
}

// disclaim sends a settlement that abandons the claim.
func (e *Engine) disclaim(ctx context.Context, name string, s *engine.Settlement) (Reply, error) {
	c := e.call(disclaimScript)
	defer c.free()
	c.keys(e.lockEntry(name), e.resultEntry(name), e.settledChannel(name), e.claimTombstone(name, s.Attempt))
	c.args(entryAttempt(s.Attempt), string(e.publish), e.tombstoneLife(s.Lease))
	return e.client.Eval(ctx, c)
}

// lobbyArgs tells settle.lua how to let others know.
func (e *Engine) settleArgs(c *Call) {
	ask := "NUMSUB"
	switch {
	case e.cluster != nil:
		ask = "-"
	case e.publish == Sharded:
		ask = "SHARDNUMSUB"
	}
	c.args(string(e.publish), ask, e.settleChannel, e.locks)
}

type settlementTerms struct {
	outcome   engine.State
	retain    time.Duration
	fromStart bool
}

// settlementTerms are the terms of a settlement, as settle.lua reads them.
func (e *Engine) settlementTerms(s *engine.Settlement) string {
	return e.settleText.text(settlementTerms{s.Outcome, s.Retain, s.FromStart}, func(t settlementTerms) string {
		from := ""
		if t.fromStart {
			from = "@"
		}
		return outcomeLetters[t.outcome] + from + strconv.FormatInt(ceil(t.retain), 10)
	})
}

// payload is the result that is kept.
func payload(s *engine.Settlement) string {
	if s.Outcome == engine.Done || s.Outcome == engine.Failed {
		return string(s.Result)
	}
	return ""
}

// outcome reads what settle.lua, or its like, answers about one claim.
func (e *Engine) parseOutcome(ctx context.Context, name string, s *Script, reply Reply, err error) (engine.Outcome, error) {
	if err != nil {
		return 0, e.explain(ctx, name, s, err)
	}
	answer := reply.Int
	if reply.List != nil {
		answer = reply.List[0].Int
	}
	if o := engine.Outcome(answer); o <= engine.NotYours {
		return o, nil
	}
	return 0, notRecord(name)
}

// boardSettlement makes a passenger of a settlement.
func (e *Engine) settleItem(name string, s *engine.Settlement) *batchItem {
	p := batchItems.Get().(*batchItem)
	p.name, p.attempt, p.terms, p.result = name, entryAttempt(s.Attempt), e.settlementTerms(s), payload(s)
	return p
}

// settleMany makes the settlements of a batch. The answer of each is what
// [Engine.outcome] reads, or that it is to be asked for alone.
func (e *Engine) settleMany(batch []*batchItem) error {
	c := e.call(settleScript)
	defer c.free()
	e.settleArgs(c)
	for _, p := range batch {
		c.keys(e.lockEntry(p.name))
		c.args(p.attempt, p.terms, p.result)
	}
	for _, p := range batch {
		c.keys(e.resultEntry(p.name))
	}
	reply, err := e.client.Eval(context.Background(), c)
	if err != nil {
		return err
	}
	if reply.List != nil && len(reply.List) != len(batch) {
		return fmt.Errorf("%s: %d answers to %d settlements", c.Script.Name, len(reply.List), len(batch))
	}
	for i, p := range batch {
		p.answer = reply
		if reply.List != nil {
			p.answer = Reply{Int: reply.List[i].Int}
		}
	}
	return nil
}
