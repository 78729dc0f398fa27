package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/observe/logs"
)

// log writes what a rule did with a request; s is nil if no rule was involved. The level
// is debug for success, info for a refusal, and warn if the outcome is unknown or the
// engine or upstream is down. A guard's record appears with its id, a lock's key as a
// hash. During an outage, and for unguarded requests, lines are sampled.
func (x *exchange) log(outcome string, s *ruleStep, res result) {
	level := slog.LevelDebug
	switch {
	case res.code == interlockhttp.UpstreamUnknown, res.code == interlockhttp.UpstreamUnreachable, outcome == "unguarded", outcome == "local", res.code == interlockhttp.StoreUnavailable:
		level = slog.LevelWarn
	case res.code != "":
		level = slog.LevelInfo
	}
	log := x.gateway.options.Log
	// The request's context may be canceled already, and some log handlers then drop the line.
	ctx := context.Background()
	if !log.Enabled(ctx, level) {
		return
	}
	name := ""
	if s != nil {
		name = s.rule.Do.Name
	}
	// Sampling comes after Enabled: a line that the level drops must not count as skipped.
	kind := string(res.code)
	if kind == "" {
		kind = outcome
	}
	skipped := 0
	if outages[kind] {
		var ok bool
		if skipped, ok = x.gateway.sample.Allow(logKey{name, kind}); !ok {
			return
		}
	}
	if res.code == interlockhttp.UpstreamUnknown {
		ctx = logs.Every(ctx) // the handler must not skip it: operators search for each of these lines
	}
	attrs := []slog.Attr{
		slog.String("method", x.request.Method), slog.String("path", x.request.URL.Path), slog.Int("status", x.response.status),
		slog.String("outcome", outcome), slog.Float64("took_ms", milliseconds(time.Since(x.began))),
	}
	if s != nil {
		attrs = append(attrs, slog.String("name", name), slog.String("key", s.logID()))
	}
	if res.code != "" {
		attrs = append(attrs, slog.String("code", string(res.code)))
	}
	if res.cause != nil {
		attrs = append(attrs, slog.String("err", res.causeText()))
	}
	if skipped > 0 {
		attrs = append(attrs, slog.Int("skipped", skipped))
	}
	log.LogAttrs(ctx, level, "request", attrs...)
}

// A logKey identifies lines that are sampled together. Each rule has at most three, one per
// kind in outages.
type logKey struct {
	rule string
	kind string // the code of the problem, or else the outcome
}

// outages are the kinds of lines that are limited to one per second and rule. During an
// outage of the engine or upstream, and while requests pass unguarded, each request would
// write the same line. Stats counts unguarded requests.
var outages = map[string]bool{string(interlockhttp.StoreUnavailable): true, string(interlockhttp.UpstreamUnreachable): true, "unguarded": true}

// causeText returns the text of the cause. Hashes replace the holder's id and the keys of
// all rules. A reader who knows a holder's id could release its lock.
func (res *result) causeText() string {
	text := res.cause.Error()
	var busy *interlock.ContendedError
	if errors.As(res.cause, &busy) && busy.Holder != "" {
		text = strings.ReplaceAll(text, busy.Holder, hashed(busy.Holder))
	}
	for s := res.innermost; s != nil; s = s.outer {
		if s.key != "" {
			quoted := strconv.Quote(s.key)[1:] // a prefix may stand between the quote and the key
			text = strings.ReplaceAll(text, quoted, hashed(s.key)+`"`)
		}
	}
	return text
}

// logID returns the id of the record, or a hash of the lock's key.
func (s *ruleStep) logID() string {
	if s.record != "" {
		return s.record
	}
	return hashed(s.key)
}

// hashed returns a short hash, by which lines about the same key can be found. It is the
// key_hash of the admin API's audit log.
func hashed(key string) string {
	if key == "" {
		return ""
	}
	// Eight bytes keep lines short. A collision joins two keys in a search, and does no
	// other harm.
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:8])
}
