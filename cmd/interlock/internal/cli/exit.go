package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/engine/standby"
)

// What a command line ends with. Scripts rely on these.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitNotAcquired = 3
	exitLost        = 4
	exitUnreachable = 5
	exitVerdict     = 6
	exitInterrupted = 130 // as shells count: 128 and the number of SIGINT
)

// An unreachableError is an engine that cannot be reached, and where its address
// came from.
type unreachableError struct {
	from string // --redis or an environment variable
	err  error
}

// Error implements error.
func (e *unreachableError) Error() string { return e.err.Error() }

// Unwrap returns what the engine said.
func (e *unreachableError) Unwrap() error { return e.err }

// unreachable tells whether err means that the engine is away.
func unreachable(err error) bool {
	return errors.Is(err, interlock.ErrUnavailable) || errors.Is(err, interlock.ErrOutcomeUnknown)
}

// report says what went wrong, if something did, and returns the code.
func (p *program) report(err error) int {
	var usage *usageError
	var away *unreachableError
	var needed *neededError
	var stopped *demo.InterruptedError
	var untold *standby.PartialSwitchError
	var file *configError
	var taken *listenError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		p.complain(usage.text, usage.hints...)
		return exitUsage
	case errors.As(err, &stopped) && stopped.Left > 0:
		p.complain(p.say(i18n.InterruptedLeft, stopped.Left))
		return exitInterrupted
	case errors.As(err, &stopped), errors.Is(err, context.Canceled):
		p.complain(p.say(i18n.Interrupted))
		return exitInterrupted
	case errors.As(err, &file) && file.hint == "":
		p.complain(file.text)
		return exitError
	case errors.As(err, &file):
		p.complain(file.text, file.hint)
		return exitError
	case errors.As(err, &untold):
		hint := i18n.UntoldHint
		if untold.Done {
			hint = i18n.UntoldDoneHint
		}
		p.complain(p.say(i18n.Untold, untold.Side, untold.Err), p.say(hint))
		return exitUnreachable
	case errors.As(err, &needed):
		p.complain(p.say(i18n.Unreachable, needed), p.say(i18n.NeededHint, needed.from))
		return exitUnreachable
	case errors.As(err, &away):
		p.complain(p.say(i18n.Unreachable, away), p.say(i18n.UnreachableHint, away.from))
		return exitUnreachable
	case errors.As(err, &taken):
		p.complain(p.say(i18n.PortTaken, taken.at, taken.err), p.say(i18n.PortHint))
		return exitError
	case errors.Is(err, errDoctorFailed):
		p.complain(p.say(i18n.DoctorFailed))
		return exitVerdict
	case errors.Is(err, errDoctorAway):
		p.complain(p.say(i18n.DoctorAway))
		return exitUnreachable
	case errors.Is(err, demo.ErrVerdict):
		p.complain(p.say(i18n.VerdictFailed))
		return exitVerdict
	}
	for _, known := range []func(error) (int, bool){p.reportExec, p.reportOperator, p.reportStorm, p.reportGateway, p.reportWeaving} {
		if code, ok := known(err); ok {
			return code
		}
	}
	p.complain(err.Error())
	return exitError
}

// complain writes what is wrong, and below it what to do.
func (p *program) complain(text string, hints ...string) {
	fmt.Fprintf(p.stderr, "interlock: %s\n", strings.TrimPrefix(text, "interlock: ")) // the library's begin so, too
	for _, hint := range hints {
		fmt.Fprintf(p.stderr, "  %s\n", hint)
	}
}
