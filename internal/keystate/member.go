package keystate

import (
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A memberState is the registration of a client.
type memberState struct {
	Member *Member `json:"m,omitempty"`
	Until  int64   `json:"u,omitempty"`
}

// A Member is an [engine.Member] as it is stored.
type Member struct {
	ID    string    `json:"i"`
	Name  string    `json:"n,omitempty"`
	Host  string    `json:"h,omitempty"`
	PID   int       `json:"p,omitempty"`
	Since time.Time `json:"s"`
}

// MemberOf returns the member to store.
func MemberOf(m *engine.Member) *Member { return &Member{m.ID, m.Name, m.Host, m.PID, m.Since} }

// Engine returns the stored member.
func (m *Member) Engine() engine.Member {
	return engine.Member{ID: m.ID, Name: m.Name, Host: m.Host, PID: m.PID, Since: m.Since}
}

func (s *memberState) Apply(c *Command, x *Effects) any {
	if x.Now >= s.Until {
		s.Member = nil
	}
	switch c.Do {
	case DoRegister:
		x.change()
		s.Member, s.Until = c.Member, x.Now+c.Lease
		return nil
	case DoMember:
		return s.Member
	case DoTidy:
		return tidied(s, x)
	}
	return unknownCommand(c)
}

func (s *memberState) Clone() State   { t := *s; return &t }
func (s *memberState) Vacant() bool   { return s.Member == nil }
func (s *memberState) Lasts() int64   { return s.Until }
func (s *memberState) Fences() uint64 { return 0 }
