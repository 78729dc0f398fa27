package gateway

import (
	"sync"
	"time"

	"github.com/interlock-go/interlock/interlockhttp"
)

// A sample is what is written of many lines that say the same: while the engine, or the
// service, is away, each request would be one. It is one a second for each rule.
type sample struct {
	mu    sync.Mutex
	kinds map[kind]*tally
}

// A kind is what lines have in common. There are no more than rules, times two.
type kind struct {
	rule string
	code interlockhttp.Code
}

type tally struct {
	next time.Time // when the next one may be written
	left int       // how many were left out since the last
}

// sampleEvery is how often a line of a kind is written.
const sampleEvery = time.Second

// takes reports whether a line is to be written, and how many like it were not since
// the last one.
func (s *sample) takes(k kind) (left int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kinds == nil {
		s.kinds = make(map[kind]*tally)
	}
	t := s.kinds[k]
	if t == nil {
		t = &tally{}
		s.kinds[k] = t
	}
	now := time.Now()
	if now.Before(t.next) {
		t.left++
		return 0, false
	}
	left = t.left
	t.next, t.left = now.Add(sampleEvery), 0
	return left, true
}

// sampled is takes for the line of a request. Only those are left out of which nothing
// has become, because somebody was not there: what ran, or may have run, is looked for.
func (v *visit) sampled() (left int, ok bool) {
	if v.code != interlockhttp.StoreUnavailable && v.code != interlockhttp.UpstreamUnreachable {
		return 0, true
	}
	k := kind{code: v.code}
	if v.step != nil {
		k.rule = v.step.layer.Do.Name
	}
	return v.gateway.alike.takes(k)
}
