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

// switchFlags are the flags of switch.
type switchFlags struct {
	urls   map[standby.Side]*string // of both sides; the flags write through the pointers
	to     string                   // primary, standby or local
	force  bool                     // switch even if a side cannot be written to
	status bool                     // print the state instead of switching
}

// switchSides is "switch". It moves all processes of a standby to another side.
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

		DisableFlagsInUseLine: true, // Use already lists the flags
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

// runSwitch prints the state or switches. A partial switch is printed, too: the
// operator must know which side has the new record.
func (p *program) runSwitch(c *cobra.Command, f *switchFlags) error {
	to, err := p.checkSwitch(c, f)
	if err != nil {
		return err
	}
	e, closeAll, err := p.openBoth(c, f)
	if err != nil {
		return err
	}
	defer closeAll()
	if f.status {
		return p.print(p.stateLines(e.State()))
	}
	var opts []standby.SwitchOption
	if f.force {
		opts = append(opts, standby.Force())
	}
	report, err := e.Switch(c.Context(), to, opts...)
	// No side has the new record, so there is nothing to show but the error.
	if err != nil && len(report.Written) == 0 {
		return err
	}
	return errors.Join(p.print(p.switchLines(report, err)), err)
}

// checkSwitch validates the flags and returns the side to switch to, if any.
func (p *program) checkSwitch(c *cobra.Command, f *switchFlags) (to standby.Side, err error) {
	for _, side := range []standby.Side{standby.Primary, standby.Standby} {
		if *f.urls[side] == "" {
			return 0, p.misuse(c, p.say(i18n.Missing, "--"+side.String()), "")
		}
	}
	// Exactly one of --status and --to.
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

// openBoth opens both sides. One of them may be unreachable. Then an unreachableEngine
// takes its place, and the switch reports that side.
func (p *program) openBoth(c *cobra.Command, f *switchFlags) (e *standby.Engine, closeAll func(), err error) {
	var both [2]engine.Engine
	var reasons []error
	var closes []func() error
	closeAll = func() {
		// In reverse order: the standby uses both engines until it is closed.
		for i := range closes {
			_ = closes[len(closes)-1-i]() // the switch is done
		}
	}
	for i, side := range []standby.Side{standby.Primary, standby.Standby} {
		from := "--" + side.String()
		r, err := p.open(c, *f.urls[side], from)
		var cause *unreachableError
		switch {
		case errors.As(err, &cause):
			both[i] = unreachableEngine{fmt.Errorf("%w: %w", engine.ErrUnavailable, cause)}
			reasons = append(reasons, cause)
		case err != nil:
			closeAll()
			return nil, nil, err
		default:
			both[i], closes = r, append(closes, r.Close)
		}
	}
	// Nothing was opened, so nothing is closed. The first reason is as good as the
	// second.
	if len(reasons) == len(both) {
		return nil, nil, reasons[0]
	}
	// An operator grants no locks, so the switch does not wait for its leases.
	e, err = standby.New(c.Context(), both[0], both[1], standby.Operator(), standby.Name(p.operatorName()))
	if err != nil {
		closeAll()
		return nil, nil, err
	}
	closes = append(closes, e.Close)
	return e, closeAll, nil
}

// operatorName identifies the operator in records and JSON output.
func (p *program) operatorName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "?" // a record needs an author
	}
	if user := p.getenv("USER"); user != "" {
		return user + "@" + host
	}
	return host
}

// switchLines describes the result of a switch.
func (p *program) switchLines(r standby.Report, err error) (lines []string) {
	first := i18n.ActiveSide // nothing was switched
	switch {
	case r.Already:
		first = i18n.SwitchedAlready
	case r.Switched:
		first = i18n.Switched
	}
	lines = append(lines, p.say(first, r.State.Side, r.State.Epoch))
	for _, side := range r.Written {
		lines = append(lines, "  "+p.say(i18n.RecordedOn, side))
	}
	for side, why := range r.NotWritten {
		lines = append(lines, "  "+p.say(i18n.NotRecordedOn, side, why))
	}
	if err != nil {
		return lines
	}
	return append(lines, p.freezeLines(r.State)...)
}

// stateLines describes the active side.
func (p *program) stateLines(s standby.State) (lines []string) {
	if s.Used {
		lines = append(lines, p.say(i18n.ActiveSide, s.Side, s.Epoch))
	} else {
		lines = append(lines, p.say(i18n.NotUsed))
	}
	// Epoch 0 is the state before the first switch, which has no author.
	if s.Epoch > 0 {
		lines = append(lines, "  "+p.say(i18n.SwitchedAt, s.Since.Local().Format(time.DateTime), sanitize.Text(s.By)))
	}
	for _, side := range []standby.Side{standby.Primary, standby.Standby} {
		if err := s.Sides[side]; err != nil {
			lines = append(lines, "  "+p.say(i18n.SideUnreachable, side, err))
		}
	}
	return append(lines, p.freezeLines(s)...)
}

// freezeLines describes the effects of a switch on users.
func (p *program) freezeLines(s standby.State) (lines []string) {
	if s.Side == standby.Local {
		lines = append(lines, "  "+p.say(i18n.DegradedLocal))
	}
	if !s.FrozenUntil.IsZero() {
		left := time.Until(s.FrozenUntil).Round(100 * time.Millisecond)
		lines = append(lines, "  "+p.say(i18n.FrozenUntil, s.FrozenUntil.Format(time.TimeOnly), left))
	}
	return lines
}

// print writes lines to stdout.
func (p *program) print(lines []string) error {
	_, err := fmt.Fprintln(p.stdout, strings.Join(lines, "\n"))
	return err
}
