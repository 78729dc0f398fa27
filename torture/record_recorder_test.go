package torture

import (
	"context"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// runWork claims a key, works and settles the claim, as a guard does. Some work fails, and
// may run again.
func (a *try) runWork() {
	got := ""
	for range 1 + rand.IntN(6) {
		if got = a.claim(); got == granted || got == done || got == unknown && rand.IntN(3) == 0 {
			break
		}
		<-time.After(rand.N(8 * time.Millisecond)) // another caller works
	}
	if got == granted {
		<-time.After(rand.N(5 * time.Millisecond)) // the work
		if rand.IntN(4) == 0 {
			a.settleUntilAnswered(opGiveUp, engine.Settlement{})
		} else {
			a.settleUntilAnswered(opSettle, engine.Settlement{Outcome: engine.Done, Result: []byte(strconv.Itoa(a.number)), Retain: longLease})
		}
	}
	if rand.IntN(4) == 0 {
		a.look()
	}
	if len(a.unresolved) > 0 { // a claim may still be on its way
		a.settleUntilAnswered(opUndo, engine.Settlement{Abandon: true, Lease: longLease})
	}
	a.end()
}

// newWork returns an attempt to do the work of a key.
func (r *recorder) newWork(key string) *try { return r.newTry(engine.Request{Key: key}) }

func (a *try) ledger() engine.Ledger { return a.engine.Capabilities().Ledger }

func (a *try) claim() string {
	got := a.call(opClaim, func(ctx context.Context) (answer, error) {
		r, err := a.ledger().Claim(ctx, engine.Claim{
			Key: a.req.Key, Attempt: a.req.Attempt, Lease: longLease, Retain: longLease, Retry: a.req.Retry,
		})
		if r.Granted {
			return answer{result: granted, fence: r.Fence}, err
		}
		return answerOf(r), err
	})
	a.req.Retry = a.req.Retry || got == unknown
	return got
}

func (a *try) look() {
	a.call(opLook, func(ctx context.Context) (answer, error) {
		r, err := a.ledger().Lookup(ctx, a.req.Key)
		return answerOf(r), err
	})
}

// answerOf returns what a record that was not claimed says.
func answerOf(r engine.Record) answer {
	switch r.State {
	case engine.Absent:
		return answer{result: absent}
	case engine.Running:
		return answer{result: busy, fence: r.Fence}
	case engine.Done:
		by, _ := strconv.Atoi(string(r.Result)) // another result fits no attempt
		return answer{result: done, fence: r.Fence, by: by}
	}
	return answer{result: r.State.String()}
}

// settleUntilAnswered repeats the end of a claim until it gets an answer.
func (a *try) settleUntilAnswered(do string, s engine.Settlement) {
	s.Key, s.Attempt = a.req.Key, a.req.Attempt
	for range 100 {
		got := a.call(do, func(ctx context.Context) (answer, error) {
			outcome, err := a.ledger().Settle(ctx, s)
			return answer{result: outcome.String()}, err
		})
		if got != "" && got != unknown {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	a.fail(errSilent)
}
