package mysql

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/keystate"
)

// Register implements [engine.Inspector].
func (e *Engine) Register(ctx context.Context, m engine.Member, life time.Duration) error {
	if life <= 0 {
		return fmt.Errorf("mysql: register client %q for %v: set a life above zero", m.ID, life)
	}
	if err := e.check(ctx, m.ID, nil); err != nil {
		return err
	}
	_, err := e.run(ctx, keystate.Clients, m.ID, keystate.Command{
		Do: keystate.DoRegister, Lease: keystate.Millis(life), Member: keystate.MemberOf(&m),
	})
	return err
}

// Members implements [engine.Inspector].
func (e *Engine) Members(ctx context.Context, ids []string) (members []engine.Member, _ error) {
	if err := e.usable(ctx); err != nil {
		return nil, err
	}
	found := make([]*keystate.Member, len(ids))
	errs := keystate.EachIndex(len(ids), func(i int) (err error) {
		if ids[i] != "" {
			found[i], err = read[*keystate.Member](ctx, e, keystate.Clients, ids[i], keystate.Command{Do: keystate.DoMember})
		}
		return err
	})
	for i, m := range found {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if m != nil {
			members = append(members, m.Engine())
		}
	}
	return members, nil
}
