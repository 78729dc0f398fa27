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

// The exit codes. Scripts rely on them. The help of every command lists them, except
// doctor, which has a list of its own.
const (
	exitOK          = 0
	exitError       = 1   // an error without a code of its own
	exitUsage       = 2   // the command line is wrong; nothing was done
	exitNotAcquired = 3   // another holder has the lock, or a storm exceeded --timeout
	exitLost        = 4   // exec lost its lock and stopped the command
	exitUnreachable = 5   // the engine, or a side of a standby, does not answer
	exitVerdict     = 6   // the command ran, and its check failed
	exitInterrupted = 130 // 128 + SIGINT, as in shells
)

// An unreachableError reports an engine that cannot be reached.
type unreachableError struct {
	from string // the source of its address: --engine or an environment variable
	err  error
}

// Error implements error.
func (e *unreachableError) Error() string { return e.err.Error() }

// Unwrap returns the engine's error.
func (e *unreachableError) Unwrap() error { return e.err }

// unreachable reports whether err means that the engine cannot be reached. An unknown
// outcome counts, too: the request was sent, and no answer came.
func unreachable(err error) bool {
	return errors.Is(err, interlock.ErrUnavailable) || errors.Is(err, interlock.ErrOutcomeUnknown)
}

// report prints an error with a hint, and returns its exit code. The order of the cases
// matters: an engineRequiredError wraps an unreachableError, and a wrapped error matches
// both.
func (p *program) report(err error) int {
	var usage *usageError
	var unreachable *unreachableError
	var required *engineRequiredError
	var stopped *demo.InterruptedError
	var partial *standby.PartialSwitchError
	var file *configError
	var listen *listenError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		p.printError(usage.text, usage.hints...)
		return exitUsage
	case errors.As(err, &stopped) && stopped.Unreleased > 0:
		p.printError(p.say(i18n.InterruptedLeft, stopped.Unreleased))
		return exitInterrupted
	case errors.As(err, &stopped), errors.Is(err, context.Canceled):
		p.printError(p.say(i18n.Interrupted))
		return exitInterrupted
	case errors.As(err, &file) && file.hint == "":
		p.printError(file.text)
		return exitError
	case errors.As(err, &file):
		p.printError(file.text, file.hint)
		return exitError
	case errors.As(err, &partial):
		hint := i18n.NotSwitchedHint
		if partial.Done {
			hint = i18n.SwitchedPartlyHint
		}
		p.printError(p.say(i18n.SwitchUnreachable, partial.Side, partial.Err), p.say(hint))
		return exitUnreachable
	case errors.As(err, &required):
		p.printError(p.say(i18n.Unreachable, required), p.say(i18n.NeededHint, required.from))
		return exitUnreachable
	case errors.As(err, &unreachable):
		p.printError(p.say(i18n.Unreachable, unreachable), p.say(i18n.UnreachableHint, unreachable.from))
		return exitUnreachable
	case errors.As(err, &listen):
		p.printError(p.say(i18n.PortTaken, listen.at, listen.err), p.say(listen.hint))
		return exitError
	case errors.Is(err, errDoctorFailed):
		p.printError(p.say(i18n.DoctorFailed))
		return exitVerdict
	case errors.Is(err, errDoctorUnreachable):
		p.printError(p.say(i18n.DoctorUnreachable))
		return exitUnreachable
	case errors.Is(err, demo.ErrVerdict):
		p.printError(p.say(i18n.VerdictFailed))
		return exitVerdict
	}
	// The errors of one command are printed beside that command.
	for _, known := range []func(error) (int, bool){p.reportExec, p.reportOperator, p.reportStorm, p.reportGateway, p.reportWeaving} {
		if code, ok := known(err); ok {
			return code
		}
	}
	p.printError(err.Error())
	return exitError
}

// printError prints an error, and below it what to do.
func (p *program) printError(text string, hints ...string) {
	fmt.Fprintf(p.stderr, "interlock: %s\n", strings.TrimPrefix(text, "interlock: ")) // errors of the library have the prefix already
	for _, hint := range hints {
		fmt.Fprintf(p.stderr, "  %s\n", hint)
	}
}
