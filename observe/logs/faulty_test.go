package logs_test

import (
	"context"
	"log/slog"
	"sync/atomic"
)

// A faulty handler panics with each line.
type faulty struct{}

func (faulty) Enabled(context.Context, slog.Level) bool  { return true }
func (faulty) Handle(context.Context, slog.Record) error { panic("the disk is full") }
func (f faulty) WithAttrs([]slog.Attr) slog.Handler      { return f }
func (f faulty) WithGroup(string) slog.Handler           { return f }

// A blocking writer discards lines. While block is set, it first waits until free is closed.
type blocking struct {
	block atomic.Bool
	free  chan struct{}
}

func (b *blocking) Write(text []byte) (int, error) {
	if b.block.Load() {
		<-b.free
	}
	return len(text), nil
}
