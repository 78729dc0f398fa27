package zookeeper

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A memberState is the registration of a client.
type memberState struct {
	Member *member `json:"m,omitempty"`
	Until  int64   `json:"u,omitempty"`
}

// A member is an [engine.Member] as it is stored.
type member struct {
	ID    string    `json:"i"`
	Name  string    `json:"n,omitempty"`
	Host  string    `json:"h,omitempty"`
	PID   int       `json:"p,omitempty"`
	Since time.Time `json:"s"`
}

func (s *memberState) apply(c *command, x *effects) any {
	if x.now >= s.Until {
		s.Member = nil
	}
	switch c.Do {
	case doRegister:
		x.change()
		s.Member, s.Until = c.Member, x.now+c.Lease
		return nil
	case doMember:
		return s.Member
	case doTidy:
		return tidied(s, x)
	}
	return unknownCommand(c)
}

func (s *memberState) clone() state   { t := *s; return &t }
func (s *memberState) vacant() bool   { return s.Member == nil }
func (s *memberState) lasts() int64   { return s.Until }
func (s *memberState) fences() uint64 { return 0 }

// Register implements [engine.Inspector].
func (e *Engine) Register(ctx context.Context, m engine.Member, life time.Duration) error {
	if life <= 0 {
		return fmt.Errorf("zookeeper: register client %q for %v: set a life above zero", m.ID, life)
	}
	if err := e.checkKey(ctx, m.ID); err != nil {
		return err
	}
	_, err := e.run(ctx, clientsDir, m.ID, command{
		Do: doRegister, Lease: millis(life), Member: &member{m.ID, m.Name, m.Host, m.PID, m.Since},
	})
	return err
}

// Members implements [engine.Inspector].
func (e *Engine) Members(ctx context.Context, ids []string) (members []engine.Member, _ error) {
	if err := e.usable(ctx); err != nil {
		return nil, err
	}
	found := make([]*member, len(ids))
	errs := eachIndex(len(ids), func(i int) (err error) {
		if ids[i] != "" {
			found[i], err = ask[*member](ctx, e, clientsDir, ids[i], command{Do: doMember})
		}
		return err
	})
	for i, m := range found {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if m != nil {
			members = append(members, engine.Member{ID: m.ID, Name: m.Name, Host: m.Host, PID: m.PID, Since: m.Since})
		}
	}
	return members, nil
}
