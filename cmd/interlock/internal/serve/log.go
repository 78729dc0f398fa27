package serve

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/interlock-go/interlock/cmd/interlock/internal/sanitize"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/observe/logs"
)

// Handler returns the log handler of a gateway: JSON if asJSON is set, readable lines on
// a terminal, and key=value otherwise. Levels decide what is written. The keys of
// locks are hashed. Only the lines for a terminal are sanitized; programs read the others.
func Handler(w io.Writer, asJSON, terminal bool, levels *logs.Levels) slog.Handler {
	o := &slog.HandlerOptions{Level: slog.LevelDebug}
	var next slog.Handler
	switch {
	case asJSON:
		next = slog.NewJSONHandler(w, o)
	case terminal:
		next = &terminalHandler{out: &lockedWriter{w: w}}
	default:
		next = slog.NewTextHandler(w, o)
	}
	return logs.NewHandler(&keyHider{Handler: next}, levels)
}

// setLevels applies the levels of a configuration. With Verbose, components without a
// level of their own are logged at debug.
func (o *Options) setLevels(c config.Log) {
	if o.Levels == nil {
		return
	}
	if o.Verbose {
		c.Level = slog.LevelDebug
	}
	if err := o.Levels.SetAll(c.Level, c.Components); err != nil {
		panic(err) // package config accepts known components only
	}
}

// terminalHandler writes the time of day, the message and the attributes on one line.
// Values may come from clients, so escape sequences in them are made visible.
type terminalHandler struct {
	out  *lockedWriter // shared by all handlers that WithAttrs returns
	with string        // the attributes of every line
}

// A lockedWriter keeps concurrent lines apart.
type lockedWriter struct {
	mu sync.Mutex // guards w
	w  io.Writer
}

// Enabled implements [slog.Handler]. Package logs decides.
func (h *terminalHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements [slog.Handler].
func (h *terminalHandler) Handle(_ context.Context, r slog.Record) error {
	var b bytes.Buffer
	b.WriteString(r.Time.Format(time.TimeOnly))
	b.WriteByte(' ')
	// Most lines are information; a level on each would hide the warnings.
	if r.Level != slog.LevelInfo {
		b.WriteString(strings.ToLower(r.Level.String()) + ": ")
	}
	b.WriteString(sanitize.Text(r.Message))
	b.WriteString(h.with)
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString(attribute(a))
		return true
	})
	b.WriteByte('\n')
	// The line was built before, so the lock covers one write only.
	h.out.mu.Lock()
	defer h.out.mu.Unlock()
	_, err := h.out.w.Write(b.Bytes())
	return err
}

// WithAttrs implements [slog.Handler].
func (h *terminalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h // slog requires a copy: h stays in use
	for _, a := range attrs {
		if a.Key != "component" { // the message names it
			next.with += attribute(a)
		}
	}
	return &next
}

// WithGroup implements [slog.Handler]. The gateway does not use groups.
func (h *terminalHandler) WithGroup(string) slog.Handler { return h }

// attribute formats a pair. Two spaces separate pairs, because values may contain one.
func attribute(a slog.Attr) string {
	return "  " + a.Key + "=" + sanitize.Text(a.Value.Resolve().String())
}
