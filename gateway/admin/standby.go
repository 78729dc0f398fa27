package admin

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/standby"
)

// A Switch is which of two engines counts.
type Switch struct {
	Side      string            `json:"side" enum:"primary,standby,local"`
	Epoch     uint64            `json:"epoch" doc:"How often it was switched."`
	Since     *time.Time        `json:"since,omitempty" doc:"When it last was."`
	By        string            `json:"by,omitempty" doc:"Who did."`
	QuietMS   int64             `json:"quiet_ms" doc:"For how long nothing is granted, until what was granted before is over."`
	Degraded  bool              `json:"degraded" doc:"This process has degraded by itself: the others may not have."`
	Already   bool              `json:"already" doc:"That side counted before."`
	Reached   []string          `json:"reached" doc:"The sides that know of it."`
	Unreached map[string]string `json:"unreached" doc:"Those that do not, and why."`
}

func (s *Server) standbyRoutes() {
	route(s, "get-standby", "GET /standby", "Ask which of two engines counts", "A conflict, if the engine is not made of two.", s.getStandby)
	route(s, "switch-standby", "POST /standby/switch", "Let the other engine count, for all processes",
		"Nothing is granted until what was granted before is over. If a side cannot be told it is refused, unless it is forced: then who still "+
			"reaches that side, and not the other one, goes on there, and two may have one lock. Force it when that side is down for everybody.",
		s.switchStandby)
	route(s, "degrade-standby", "POST /standby/degrade", "Let every process have locks of its own, in memory",
		"The last resort, when neither engine can be used: nobody keeps the locks of two processes apart. The way back is to switch.", s.degradeStandby)
}

// pair returns the engine as one of two.
func (s *Server) standbyEngine() (*standby.Engine, error) {
	e, ok := s.o.Engine.(*standby.Engine)
	if !ok {
		return nil, problem(NotSupported, "the engine is not made of two: set engine.standby to two URLs")
	}
	return e, nil
}

func (s *Server) getStandby(context.Context, *struct{}) (*body[Switch], error) {
	e, err := s.standbyEngine()
	if err != nil {
		return nil, err
	}
	out := state(e.State())
	for side, why := range e.State().Sides {
		if why != nil {
			out.Unreached[side.String()] = why.Error()
		} else {
			out.Reached = append(out.Reached, side.String())
		}
	}
	return answer(out), nil
}

func (s *Server) switchStandby(ctx context.Context, in *struct {
	Body struct {
		ReasonBody
		To    string `json:"to" enum:"primary,standby"`
		Force bool   `json:"force,omitempty" doc:"Even if a side cannot be told."`
	}
}) (*body[Switch], error) {
	to, err := standby.ParseSide(in.Body.To)
	if err != nil {
		return nil, problem(Invalid, "%v", err)
	}
	return s.switchTo(ctx, AuditEntry{Action: "switch:" + in.Body.To, Reason: in.Body.Reason}, to, in.Body.Force)
}

func (s *Server) degradeStandby(ctx context.Context, in *struct {
	Body struct {
		ReasonBody
		Force bool `json:"force,omitempty" doc:"Even if a side cannot be told."`
	}
}) (*body[Switch], error) {
	return s.switchTo(ctx, AuditEntry{Action: "degrade", Reason: in.Body.Reason}, standby.Local, in.Body.Force)
}

// turn switches, and writes it down.
func (s *Server) switchTo(ctx context.Context, deed AuditEntry, to standby.Side, force bool) (*body[Switch], error) {
	var out Switch
	err := s.act(ctx, &deed, func() error {
		e, err := s.standbyEngine()
		if err != nil {
			return err
		}
		was := e.State()
		deed.Before = []Before{{State: was.Side.String(), Fence: was.Epoch}}
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

// unswitched says why nothing, or not all, was switched.
func switchError(err error) error {
	var untold *standby.PartialSwitchError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &untold), errors.Is(err, engine.ErrConflict):
		return problem(Conflict, "%v", err)
	}
	return err
}

func switchResult(r standby.Report) Switch {
	out := state(r.State)
	out.Already = r.Already
	for _, side := range r.Told {
		out.Reached = append(out.Reached, side.String())
	}
	for side, why := range r.Untold {
		out.Unreached[side.String()] = "it has another word"
		if why != nil {
			out.Unreached[side.String()] = why.Error()
		}
	}
	return out
}

func state(st standby.State) Switch {
	out := Switch{Side: st.Side.String(), Epoch: st.Epoch, By: st.By, Degraded: st.Alone, Reached: []string{}, Unreached: map[string]string{}}
	if !st.Since.IsZero() {
		out.Since = &st.Since
	}
	if !st.Quiet.IsZero() {
		out.QuietMS = max(0, millis(time.Until(st.Quiet)))
	}
	return out
}
