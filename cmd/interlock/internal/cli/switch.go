package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/cmd/interlock/internal/sanitize"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/standby"
)

// switchFlags are what can be said about a switch.
type switchFlags struct {
	urls   map[standby.Side]*string
	to     string
	force  bool
	status bool
}

func (p *program) switchSides() *cobra.Command {
	f := switchFlags{urls: map[standby.Side]*string{standby.Primary: new(string), standby.Standby: new(string)}}
	c := &cobra.Command{
		Use:   "switch [flags]",
		Short: p.say(i18n.AboutSwitch),
		Long:  p.say(i18n.AboutSwitchLong),
		Example: "  interlock switch --primary redis://a:6379 --standby redis://b:6379 --status\n" +
			"  interlock switch --primary redis://a:6379 --standby redis://b:6379 --to standby",
		Args: p.noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return p.runSwitch(c, &f) },

		DisableFlagsInUseLine: true, // Use has them
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(f.urls[standby.Primary], "primary", "", p.say(i18n.FlagPrimary))
	flags.StringVar(f.urls[standby.Standby], "standby", "", p.say(i18n.FlagStandby))
	flags.StringVar(&f.to, "to", "", p.say(i18n.FlagTo))
	flags.BoolVar(&f.force, "force", false, p.say(i18n.FlagForce))
	flags.BoolVar(&f.status, "status", false, p.say(i18n.FlagStatus))
	return c
}

func (p *program) runSwitch(c *cobra.Command, f *switchFlags) error {
	to, err := p.checkSwitch(c, f)
	if err != nil {
		return err
	}
	e, closeAll, err := p.operator(c, f)
	if err != nil {
		return err
	}
	defer closeAll()
	if f.status {
		return p.print(p.state(e.State()))
	}
	var opts []standby.SwitchOption
	if f.force {
		opts = append(opts, standby.Force())
	}
	report, err := e.Switch(c.Context(), to, opts...)
	if err != nil && len(report.Told) == 0 {
		return err
	}
	return errors.Join(p.print(p.reported(report, err)), err)
}

// checkSwitch looks at the flags, and returns the side to switch to if there is one.
func (p *program) checkSwitch(c *cobra.Command, f *switchFlags) (to standby.Side, err error) {
	for _, side := range []standby.Side{standby.Primary, standby.Standby} {
		if *f.urls[side] == "" {
			return 0, p.misuse(c, p.say(i18n.Lacking, "--"+side.String()), "")
		}
	}
	if f.status == (f.to != "") {
		return 0, p.misuse(c, p.say(i18n.ToOrStatus), "")
	}
	if f.status {
		return 0, nil
	}
	if to, err = standby.ParseSide(f.to); err != nil {
		return 0, p.badValue(c, "to", f.to, p.say(i18n.OneOf, "primary, standby, local"))
	}
	return to, nil
}

// operator opens both sides, and one of them may be away.
func (p *program) operator(c *cobra.Command, f *switchFlags) (e *standby.Engine, closeAll func(), err error) {
	var both [2]engine.Engine
	var reasons []error
	var closes []func() error
	closeAll = func() {
		for i := range closes {
			_ = closes[len(closes)-1-i]() // nothing depends on it any more
		}
	}
	for i, side := range []standby.Side{standby.Primary, standby.Standby} {
		from := "--" + side.String()
		r, err := p.open(c, *f.urls[side], from)
		var gone *unreachableError
		switch {
		case errors.As(err, &gone):
			both[i] = away{fmt.Errorf("%w: %w", engine.ErrUnavailable, gone)}
			reasons = append(reasons, gone)
		case err != nil:
			closeAll()
			return nil, nil, err
		default:
			both[i], closes = r, append(closes, r.Close)
		}
	}
	if len(reasons) == len(both) {
		return nil, nil, reasons[0]
	}
	e, err = standby.New(c.Context(), both[0], both[1], standby.Operator(), standby.Name(p.who()))
	if err != nil {
		closeAll()
		return nil, nil, err
	}
	closes = append(closes, e.Close)
	return e, closeAll, nil
}

// who is the name of the operator, for the others.
func (p *program) who() string {
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	if user := p.getenv("USER"); user != "" {
		return user + "@" + host
	}
	return host
}

// reported is what is said about a switch.
func (p *program) reported(r standby.Report, err error) (lines []string) {
	switched := i18n.Switched
	if r.Already {
		switched = i18n.SwitchedBefore
	}
	lines = append(lines, p.say(switched, r.State.Side, r.State.Epoch))
	for _, side := range r.Told {
		lines = append(lines, "  "+p.say(i18n.Told, side))
	}
	for side, why := range r.Untold {
		lines = append(lines, "  "+p.say(i18n.NotTold, side, why))
	}
	if err != nil {
		return lines
	}
	return append(lines, p.waited(r.State)...)
}

// state is what is said about the side that counts.
func (p *program) state(s standby.State) (lines []string) {
	if s.Used {
		lines = append(lines, p.say(i18n.Counts, s.Side, s.Epoch))
	} else {
		lines = append(lines, p.say(i18n.NotUsed))
	}
	if s.Epoch > 0 {
		lines = append(lines, "  "+p.say(i18n.SwitchedAt, s.Since.Local().Format(time.DateTime), sanitize.Text(s.By)))
	}
	for _, side := range []standby.Side{standby.Primary, standby.Standby} {
		if err := s.Sides[side]; err != nil {
			lines = append(lines, "  "+p.say(i18n.SideAway, side, err))
		}
	}
	return append(lines, p.waited(s)...)
}

// waited is what users notice of a switch.
func (p *program) waited(s standby.State) (lines []string) {
	if s.Side == standby.Local {
		lines = append(lines, "  "+p.say(i18n.EachAlone))
	}
	if !s.Quiet.IsZero() {
		left := time.Until(s.Quiet).Round(100 * time.Millisecond)
		lines = append(lines, "  "+p.say(i18n.QuietUntil, s.Quiet.Format(time.TimeOnly), left))
	}
	return lines
}

// print writes lines.
func (p *program) print(lines []string) error {
	_, err := fmt.Fprintln(p.stdout, strings.Join(lines, "\n"))
	return err
}
