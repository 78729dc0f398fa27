package guard

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/interlock-go/interlock"
)

// TokenStats are the counters of the tokens for one form.
type TokenStats struct {
	Issued   uint64 // tokens issued
	Redeemed uint64 // tokens whose work was started
	Used     uint64 // tokens that came again: their work runs, has a result, or has failed
	Expired  uint64 // tokens that were too old, and without a result
	Unknown  uint64 // tokens without a valid signature, or of another user or form
}

// TokenStatsOf returns the counters of tokens by form. It counts the tokens that the guards
// of a client redeemed, and the tokens issued by each Tokens that reports to the client (see
// [Tokens.ReportTo]). Forms after the first 1,000 are counted as "other".
func TokenStatsOf(client *interlock.Client) map[string]TokenStats {
	t := tokensOf(client)
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make(map[string]TokenStats, len(t.forms))
	for form, c := range t.forms {
		all[form] = c.stats()
	}
	return all
}

// ReportTo makes t count its tokens in a client from now on, for [TokenStatsOf]. The first
// client also gets the earlier counts. The HTTP middleware and the gateway call ReportTo.
func (t *Tokens) ReportTo(client *interlock.Client) {
	to := tokensOf(client)
	from := t.counters.Swap(to)
	if from == nil || !from.unreported {
		return
	}
	from.mu.Lock()
	defer from.mu.Unlock()
	for form, c := range from.forms {
		to.of(form).add(c.stats())
	}
}

// countIn returns the counters of a form.
func (t *Tokens) countIn(form string) *tokenCounters {
	if t.counters.Load() == nil {
		t.counters.CompareAndSwap(nil, &tokenTable{unreported: true})
	}
	return t.counters.Load().of(form)
}

// countToken counts a call with a token by its verdict. A call that learned nothing about
// the token, for example because the engine is down, is not counted.
func (k *call) countToken(v Verdict, err error) {
	c := k.core.tokens.of(k.key.Route) // the form
	switch {
	case errors.Is(err, ErrTokenExpired):
		c.expired.Add(1)
	case v == Granted, v == Unguarded:
		c.redeemed.Add(1)
	case v != Down && v != GaveUp:
		c.used.Add(1)
	}
}

type tokenCounters struct {
	issued, redeemed, used, expired, unknown atomic.Uint64
}

func (c *tokenCounters) stats() TokenStats {
	return TokenStats{c.issued.Load(), c.redeemed.Load(), c.used.Load(), c.expired.Load(), c.unknown.Load()}
}

func (c *tokenCounters) add(s TokenStats) {
	c.issued.Add(s.Issued)
	c.redeemed.Add(s.Redeemed)
	c.used.Add(s.Used)
	c.expired.Add(s.Expired)
	c.unknown.Add(s.Unknown)
}

// A tokenTable has counters by form.
type tokenTable struct {
	unreported bool // it belongs to Tokens, not to a client

	mu    sync.Mutex
	forms map[string]*tokenCounters
}

type tokensKey struct{}

func tokensOf(client *interlock.Client) *tokenTable {
	return client.Shared(tokensKey{}, func() any { return new(tokenTable) }).(*tokenTable)
}

func (t *tokenTable) of(form string) *tokenCounters {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.forms == nil {
		t.forms = make(map[string]*tokenCounters)
	}
	if t.forms[form] == nil && len(t.forms) >= maxNames {
		form = otherName
	}
	if t.forms[form] == nil {
		t.forms[form] = new(tokenCounters)
	}
	return t.forms[form]
}
