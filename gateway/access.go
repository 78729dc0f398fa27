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
)

// log says what a rule did about a request: at the level debug if all is well, info if
// somebody was refused, and warn if nobody knows what became of it, or nobody was
// there. The key is not in it, but the beginning of its hash. While nobody is there,
// not every request has a line.
func (v *visit) log(outcome string) {
	level := slog.LevelDebug
	switch {
	case v.code == interlockhttp.UpstreamUnknown, v.code == interlockhttp.UpstreamUnreachable, outcome == "unguarded", v.code == interlockhttp.StoreUnavailable:
		level = slog.LevelWarn
	case v.code != "":
		level = slog.LevelInfo
	}
	log := v.gateway.options.Log
	ctx := context.Background()
	if !log.Enabled(ctx, level) {
		return
	}
	left, ok := v.sampled()
	if !ok {
		return
	}
	r := v.answer.request
	attrs := []slog.Attr{
		slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", v.answer.status),
		slog.String("outcome", outcome), slog.Duration("took", time.Since(v.began)),
	}
	if s := v.step; s != nil {
		attrs = append(attrs, slog.String("rule", s.layer.Do.Name), slog.String("key", hashed(s.key)))
	}
	if v.code != "" {
		attrs = append(attrs, slog.String("code", string(v.code)))
	}
	if v.cause != nil {
		attrs = append(attrs, slog.String("err", v.why()))
	}
	if left > 0 {
		attrs = append(attrs, slog.Int("left_out", left))
	}
	log.LogAttrs(ctx, level, "request", attrs...)
}

// why returns what is behind a problem, without the keys of any rule, and without who
// has the lock: who knew that could pass for it.
func (v *visit) why() string {
	text := v.cause.Error()
	var busy *interlock.ContendedError
	if errors.As(v.cause, &busy) && busy.Holder != "" {
		text = strings.ReplaceAll(text, busy.Holder, hashed(busy.Holder))
	}
	for _, key := range v.keys {
		quoted := strconv.Quote(key)[1:] // something may stand before it
		text = strings.ReplaceAll(text, quoted, hashed(key)+`"`)
	}
	return text
}

// hashed returns what tells keys apart in a log without telling them.
func hashed(key string) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:6])
}
