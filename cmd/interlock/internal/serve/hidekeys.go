package serve

import (
	"context"
	"log/slog"
	"strconv"
	"strings"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/observe/logs"
)

// A keyHider writes hashes in place of the keys of locks. In a gateway, keys contain what
// clients send. The lines about requests have the same hashes, unless the file has a
// namespace: the keys here begin with the namespace.
type keyHider struct {
	slog.Handler
	locks bool // the lines are about locks
}

// Handle implements [slog.Handler].
func (h *keyHider) Handle(ctx context.Context, r slog.Record) error {
	if !h.locks {
		return h.Handler.Handle(ctx, r)
	}
	key := ""
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "key" {
			key = a.Value.String()
		}
		return key == ""
	})
	hidden := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "key":
			a.Value = slog.StringValue(hashed(key))
		case "err":
			a.Value = slog.StringValue(withoutKey(a.Value.String(), key))
		}
		hidden.AddAttrs(a)
		return true
	})
	return h.Handler.Handle(ctx, hidden)
}

// withoutKey replaces a key in the text of an error, where it is quoted.
func withoutKey(text, key string) string {
	if key == "" {
		return text
	}
	return strings.ReplaceAll(text, strconv.Quote(key), strconv.Quote(hashed(key)))
}

// hashed returns the hash of a key as the gateway's lines have it: it has the same form as
// that of a holder.
func hashed(key string) string { return engine.ShortHolder(key) }

// WithAttrs implements [slog.Handler].
func (h *keyHider) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := &keyHider{h.Handler.WithAttrs(attrs), h.locks}
	for _, a := range attrs {
		if a.Key == "component" {
			next.locks = a.Value.String() == logs.Locks
		}
	}
	return next
}

// WithGroup implements [slog.Handler].
func (h *keyHider) WithGroup(name string) slog.Handler {
	return &keyHider{h.Handler.WithGroup(name), h.locks}
}
