package gateway

import (
	"sync"
	"time"

	"github.com/interlock-go/interlock/interlockhttp"
)

// A logSample thins out the log where each request would write the same line: during an
// outage of the engine or upstream, and while requests pass unguarded. One line per second
// and rule is enough.
type logSample struct {
	mu    sync.Mutex
	kinds map[logKey]*logCount
}

// A logKey is what similar lines share. There are at most three for each rule.
type logKey struct {
	rule string
	kind string // the code of the problem, or else the outcome
}

// sampled are the kinds of lines that are thinned out.
var sampled = map[string]bool{string(interlockhttp.StoreUnavailable): true, string(interlockhttp.UpstreamUnreachable): true, "unguarded": true}

// A logCount is the state of one key.
type logCount struct {
	next    time.Time // when the next line may be written
	skipped int       // lines since the last one written
}

// sampleInterval is the time between two lines with one key.
const sampleInterval = time.Second

// allow reports whether to write a line, and how many similar ones were skipped before
// it. Lines about requests with an unknown outcome are never skipped: operators search for
// them one by one. Unguarded requests are counted by Stats.
func (l *logSample) allow(k logKey) (skipped int, ok bool) {
	if !sampled[k.kind] {
		return 0, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// The keys are names of the configuration, not of clients, so the map stays small.
	if l.kinds == nil {
		l.kinds = make(map[logKey]*logCount)
	}
	c := l.kinds[k]
	if c == nil {
		c = &logCount{}
		l.kinds[k] = c
	}
	now := time.Now()
	if now.Before(c.next) {
		c.skipped++
		return 0, false
	}
	skipped = c.skipped
	c.next, c.skipped = now.Add(sampleInterval), 0
	return skipped, true
}
