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
)

// Handler returns what writes a log: JSON for programs, and otherwise lines for people
// if they are looking on, and key=value if nobody is. With verbose, every request is
// in it.
func Handler(w io.Writer, programs, people, verbose bool) slog.Handler {
	level := slog.LevelInfo
	if verbose {
		level = slog.LevelDebug
	}
	o := &slog.HandlerOptions{Level: level}
	switch {
	case programs:
		return slog.NewJSONHandler(w, o)
	case people:
		return &lines{out: &line{w: w}, level: level}
	}
	return slog.NewTextHandler(w, o)
}

// lines is a log as people read it: the time of day, what happened, and the rest. What
// comes from clients does nothing to the terminal.
type lines struct {
	out   *line
	level slog.Level
	with  string // what every line has
}

// A line is written whole.
type line struct {
	mu sync.Mutex
	w  io.Writer
}

// Enabled implements [slog.Handler].
func (h *lines) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }

// Handle implements [slog.Handler].
func (h *lines) Handle(_ context.Context, r slog.Record) error {
	var b bytes.Buffer
	b.WriteString(r.Time.Format(time.TimeOnly))
	b.WriteByte(' ')
	if r.Level != slog.LevelInfo {
		b.WriteString(strings.ToLower(r.Level.String()) + ": ")
	}
	b.WriteString(sanitize.Text(r.Message))
	b.WriteString(h.with)
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString(pairOf(a))
		return true
	})
	b.WriteByte('\n')
	h.out.mu.Lock()
	defer h.out.mu.Unlock()
	_, err := h.out.w.Write(b.Bytes())
	return err
}

// WithAttrs implements [slog.Handler].
func (h *lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	for _, a := range attrs {
		next.with += pairOf(a)
	}
	return &next
}

// WithGroup implements [slog.Handler]. Nobody here makes groups.
func (h *lines) WithGroup(string) slog.Handler { return h }

func pairOf(a slog.Attr) string {
	return "  " + a.Key + "=" + sanitize.Text(a.Value.Resolve().String())
}
