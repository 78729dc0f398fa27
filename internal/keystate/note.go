package keystate

import (
	"bytes"

	"github.com/interlock-go/interlock/engine"
)

// A noteState is a note. It does not expire.
type noteState struct {
	Text    []byte `json:"x,omitempty"` // any bytes, which a string of JSON cannot hold
	Version uint64 `json:"v,omitempty"`
	At      int64  `json:"t,omitempty"` // when it was written
	name    string
}

func (s *noteState) Apply(c *Command, x *Effects) any {
	switch c.Do {
	case DoReadNote:
		if s.Version == 0 {
			return engine.Note{}
		}
		return engine.Note{Text: string(s.Text), Version: s.Version, Age: Duration(max(0, x.Now-s.At))} // the clock may have been set back
	case DoWriteNote:
		switch {
		case s.Version == c.Version+1 && bytes.Equal(s.Text, c.Text):
			return nil // an earlier call wrote it, and its reply was lost
		case s.Version != c.Version:
			return conflictError(s.name, s.Version, c.Version)
		}
		x.change()
		s.Text, s.Version, s.At = c.Text, c.Version+1, x.Now
		return nil
	case DoTidy:
		return nil
	}
	return unknownCommand(c)
}

func (s *noteState) Clone() State   { t := *s; return &t }
func (s *noteState) Vacant() bool   { return s.Version == 0 }
func (s *noteState) Lasts() int64   { return 0 }
func (s *noteState) Fences() uint64 { return 0 }
