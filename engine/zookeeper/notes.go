package zookeeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// A noteState is a note. It does not expire.
type noteState struct {
	Text    []byte `json:"x,omitempty"` // any bytes, which a string of JSON cannot hold
	Version uint64 `json:"v,omitempty"`
	At      int64  `json:"t,omitempty"` // when it was written
	name    string
}

func (s *noteState) apply(c *command, x *effects) any {
	switch c.Do {
	case doReadNote:
		if s.Version == 0 {
			return engine.Note{}
		}
		return engine.Note{Text: string(s.Text), Version: s.Version, Age: duration(max(0, x.now-s.At))} // the clock may have been set back
	case doWriteNote:
		switch {
		case s.Version == c.Version+1 && bytes.Equal(s.Text, c.Text):
			return nil // an earlier call wrote it, and its reply was lost
		case s.Version != c.Version:
			return conflictError(s.name, s.Version, c.Version)
		}
		x.change()
		s.Text, s.Version, s.At = c.Text, c.Version+1, x.now
		return nil
	case doTidy:
		return nil
	}
	return unknownCommand(c)
}

func (s *noteState) clone() state   { t := *s; return &t }
func (s *noteState) vacant() bool   { return s.Version == 0 }
func (s *noteState) lasts() int64   { return 0 }
func (s *noteState) fences() uint64 { return 0 }

var _ engine.Notes = (*Engine)(nil)

// ReadNote implements [engine.Notes].
func (e *Engine) ReadNote(ctx context.Context, name string) (engine.Note, error) {
	if err := e.checkNote(ctx, name); err != nil {
		return engine.Note{}, err
	}
	return ask[engine.Note](ctx, e, notesDir, name, command{Do: doReadNote})
}

// WriteNote implements [engine.Notes].
func (e *Engine) WriteNote(ctx context.Context, name, text string, version uint64) error {
	if err := e.checkNote(ctx, name); err != nil {
		return err
	}
	_, err := e.run(ctx, notesDir, name, command{Do: doWriteNote, Text: []byte(text), Version: version})
	return err
}

// checkNote refuses a note without a name.
func (e *Engine) checkNote(ctx context.Context, name string) error {
	if err := e.usable(ctx); err != nil {
		return err
	}
	if name == "" {
		return errors.New("zookeeper: a note needs a name")
	}
	return nil
}

// conflictError is the error of a note that another client has written meanwhile.
func conflictError(name string, has, asked uint64) error {
	return fmt.Errorf("zookeeper: note %q has version %d, not %d; read it again: %w", name, has, asked, engine.ErrConflict)
}
