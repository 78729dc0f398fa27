package admin

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/standby"
)

// A Switch is the state of a standby engine: which of its two sides is in use.
type Switch struct {
	Side      string            `json:"side" enum:"primary,standby,local"`
	Epoch     uint64            `json:"epoch" doc:"The number of switches."`
	Since     *time.Time        `json:"since,omitempty" doc:"The time of the last switch."`
	By        string            `json:"by,omitempty" doc:"The operator of the last switch."`
	FreezeMS  int64             `json:"freeze_ms" doc:"How long nothing is granted, until earlier leases have expired."`
	Degraded  bool              `json:"degraded" doc:"Only this process has degraded; other processes may still use the engine."`
	Already   bool              `json:"already" doc:"The side was in use before."`
	Reached   []string          `json:"reached" doc:"The sides that store the switch."`
	Unreached map[string]string `json:"unreached" doc:"The sides that could not store it, with the reason."`
}

// standbyRoutes registers the operations on a standby. Other engines answer
// not_supported.
func (s *Server) standbyRoutes() {
	route(s, "get-standby", "GET /standby", "Get the side of a standby engine that is in use", "A conflict if the engine is not a standby engine.", s.getStandby)
	route(s, "switch-standby", "POST /standby/switch", "Switch all processes to a side",
		"Nothing is granted until earlier leases have expired. If a side cannot be reached, the switch is refused unless it is forced. After a forced "+
			"switch, a process that reaches only the other side still uses it, and two processes may hold one lock. Force it only if that side is down for all.",
		s.switchStandby)
	route(s, "degrade-standby", "POST /standby/degrade", "Let every process use locks in its own memory",
		"A last resort if neither side works: two processes can hold the same lock. Switch to a side to return.", s.degradeStandby)
}

// standbyEngine returns the engine, or a problem if it has no standby.
func (s *Server) standbyEngine() (*standby.Engine, error) {
	e, ok := s.o.Engine.(*standby.Engine)
	if !ok {
		return nil, problem(NotSupported, "the engine has no standby: set engine.standby to two URLs")
	}
	return e, nil
}

// getStandby reports the state of the standby as this process sees it. Another process may
// see another state.
func (s *Server) getStandby(context.Context, *struct{}) (*body[Switch], error) {
	e, err := s.standbyEngine()
	if err != nil {
		return nil, err
	}
	st := e.State() // read once, so that the state and its sides agree
	out := state(st)
	for side, why := range st.Sides {
		if why != nil {
			out.Unreached[side.String()] = why.Error()
		} else {
			out.Reached = append(out.Reached, side.String())
		}
	}
	return answer(out), nil
}

// switchStandby moves all processes to one of the two sides.
func (s *Server) switchStandby(ctx context.Context, in *struct {
	Body struct {
		ReasonBody
		To    string `json:"to" enum:"primary,standby"`
		Force bool   `json:"force,omitempty" doc:"Switch even if a side cannot be reached."`
	}
}) (*body[Switch], error) {
	to, err := standby.ParseSide(in.Body.To)
	if err != nil {
		return nil, problem(Invalid, "%v", err)
	}
	return s.switchTo(ctx, AuditEntry{Action: "switch:" + in.Body.To, Reason: in.Body.Reason}, to, in.Body.Force)
}

// degradeStandby has its own path, so that a typing error in the target of a switch
// cannot give up exclusion.
func (s *Server) degradeStandby(ctx context.Context, in *struct {
	Body struct {
		ReasonBody
		Force bool `json:"force,omitempty" doc:"Switch even if a side cannot be reached."`
	}
}) (*body[Switch], error) {
	return s.switchTo(ctx, AuditEntry{Action: "degrade", Reason: in.Body.Reason}, standby.Local, in.Body.Force)
}

// switchTo switches to a side, and records the switch in the audit log.
func (s *Server) switchTo(ctx context.Context, entry AuditEntry, to standby.Side, force bool) (*body[Switch], error) {
	var out Switch
	err := s.act(ctx, &entry, func() error {
		e, err := s.standbyEngine()
		if err != nil {
			return err
		}
		before := e.State()
		// The entry has the epoch as its fence: the epoch orders switches as a fence
		// orders holders.
		entry.Before = []Before{{State: before.Side.String(), Fence: before.Epoch}}
		// The engine stores the name, and the APIs of other processes show it.
		opts := []standby.SwitchOption{standby.By(sanitize(actorOf(ctx).name))}
		if force {
			opts = append(opts, standby.Force())
		}
		report, err := e.Switch(ctx, to, opts...)
		out = switchResult(report)
		return switchError(err)
	})
	if err != nil {
		return nil, err
	}
	return answer(out), nil
}

// switchError converts the error of a refused or partial switch.
func switchError(err error) error {
	var partial *standby.PartialSwitchError
	switch {
	case err == nil:
		return nil
	// The operator has to decide: repeat with force, or read the state again.
	case errors.As(err, &partial), errors.Is(err, engine.ErrConflict):
		return problem(Conflict, "%v", err)
	}
	return err
}

// switchResult converts the report of a switch.
func switchResult(r standby.Report) Switch {
	out := state(r.State)
	out.Already = r.Already
	for _, side := range r.Written {
		out.Reached = append(out.Reached, side.String())
	}
	for side, why := range r.NotWritten {
		out.Unreached[side.String()] = "the side stores another switch"
		if why != nil {
			out.Unreached[side.String()] = why.Error()
		}
	}
	return out
}

// state converts a state. The lists are empty, not nil, so that JSON has no null.
func state(st standby.State) Switch {
	out := Switch{Side: st.Side.String(), Epoch: st.Epoch, By: st.By, Degraded: st.Alone, Reached: []string{}, Unreached: map[string]string{}}
	// Before the first switch there is no time, and JSON would show the year 1.
	if !st.Since.IsZero() {
		out.Since = &st.Since
	}
	if !st.FrozenUntil.IsZero() {
		out.FreezeMS = max(0, millis(time.Until(st.FrozenUntil)))
	}
	return out
}
