package cli

import (
	"context"
	"errors"
	"log/slog"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/cmd/interlock/internal/sanitize"
	"github.com/interlock-go/interlock/cmd/interlock/internal/serve"
	"github.com/interlock-go/interlock/cmd/interlock/internal/telemetry"
	"github.com/interlock-go/interlock/gateway/admin"
	"github.com/interlock-go/interlock/observe/logs"
	"github.com/interlock-go/interlock/rule"
)

// lockFlags describe a lock, with the names that rules use.
type lockFlags struct {
	name    string // the command, as the business name of the lock
	kind    string
	wait    time.Duration
	lease   time.Duration
	maxHold time.Duration
}

// kinds are the values of --kind.
var kinds = []string{string(rule.Plain), string(rule.Fair), string(rule.Read), string(rule.Write)}

// execFlags are the flags of exec.
type execFlags struct {
	lockFlags
	engine string        // empty: INTERLOCK_ENGINE_URL
	grace  time.Duration // between SIGTERM and SIGKILL, after the lock is lost
}

// exec runs a command while a lock is held. It cannot use the embedded engine, which would
// not exclude other processes.
func (p *program) exec() *cobra.Command {
	f := execFlags{lockFlags: lockFlags{name: "exec"}}
	c := &cobra.Command{
		Use:   "exec KEY [flags] -- COMMAND [ARGUMENTS]",
		Short: p.say(i18n.AboutExec),
		Long:  p.say(i18n.AboutExecLong),
		Example: "  interlock exec nightly-report --wait 0 -- ./report.sh\n" +
			"  interlock exec deploy --kind fair --wait 10m -- make deploy",
		Args: cobra.ArbitraryArgs, // checkExec validates them, with the position of --
		RunE: func(c *cobra.Command, args []string) error { return p.runExec(c, &f, args) },

		DisableFlagsInUseLine: true, // Use already lists the flags
	}
	flags := c.Flags()
	flags.SortFlags = false
	p.engineFlag(c, &f.engine)
	flags.DurationVar(&f.wait, "wait", rule.DefaultWait, p.say(i18n.FlagWait))
	flags.StringVar(&f.kind, "kind", string(rule.Plain), p.say(i18n.FlagKind, strings.Join(kinds, ", ")))
	flags.DurationVar(&f.lease, "lease", 0, p.say(i18n.FlagExecLease))
	flags.DurationVar(&f.maxHold, "max-hold", 0, p.say(i18n.FlagMaxHold))
	flags.DurationVar(&f.grace, "grace", 10*time.Second, p.say(i18n.FlagGrace))
	choices(c, "kind", kinds...)
	flags.Lookup("lease").DefValue, flags.Lookup("max-hold").DefValue = "", "" // not 0s
	return c
}

// runExec checks the command line and the command before it connects to a server.
func (p *program) runExec(c *cobra.Command, f *execFlags, args []string) error {
	if err := p.checkExec(c, f, args); err != nil {
		return err
	}
	key, argv := args[0], args[1:]
	path, err := exec.LookPath(argv[0])
	if err != nil { // check this before waiting for the lock
		return &childError{code: notFound(err), err: err}
	}
	log := slog.New(serve.Handler(p.stderr, false, terminal(p.stderr), logs.NewLevels(slog.LevelInfo)))
	t, err := telemetry.Start(c.Context(), built().Version, log)
	if err != nil {
		return err
	}
	defer p.stopTelemetry(t, log) // after the locks are released, which ends their spans
	r, err := p.connect(c, f.engine)
	if err != nil {
		return err
	}
	defer r.close(c.Context())
	r.client = r.client.With(t.Options()...)
	return r.classify(c.Context(), p.runLocked(t.Continue(c.Context()), r, f, key, &child{
		path: path, argv: argv, grace: f.grace, stdout: p.stdout, stderr: p.stderr, environ: t.Environ,
	}))
}

// checkExec validates the command line.
func (p *program) checkExec(c *cobra.Command, f *execFlags, args []string) error {
	switch dash := c.ArgsLenAtDash(); {
	// The -- separates our flags from those of the command. Without it, cobra would parse
	// the command's flags as ours.
	case len(args) == 0 || dash == 0:
		return p.misuse(c, p.say(i18n.KeyMissing), "")
	case dash < 0:
		return p.misuse(c, p.say(i18n.DashMissing), "")
	case dash > 1:
		return p.misuse(c, p.say(i18n.ExtraArgument, args[1]), "")
	case len(args) == 1:
		return p.misuse(c, p.say(i18n.CommandMissing), "")
	case f.grace < 0:
		return p.badValue(c, "grace", f.grace.String(), p.say(i18n.ADuration))
	}
	return p.checkLock(c, &f.lockFlags, args[0])
}

// checkLock validates the key and the flags of a lock.
func (p *program) checkLock(c *cobra.Command, f *lockFlags, key string) error {
	switch {
	case !slices.Contains(kinds, f.kind):
		return p.badValue(c, "kind", f.kind, p.say(i18n.OneOf, strings.Join(kinds, ", ")))
	case f.wait < 0:
		return p.badValue(c, "wait", f.wait.String(), p.say(i18n.ADuration))
	}
	// The library validates keys and options on acquisition. A lock on the embedded
	// engine finds mistakes before any server is contacted.
	_, hold, err := f.locker(interlock.New(nil), key).TryLock(c.Context())
	if errors.Is(err, interlock.ErrKey) || errors.Is(err, interlock.ErrOption) {
		return p.misuse(c, err.Error(), "")
	}
	if err != nil {
		return err
	}
	return hold.Unlock()
}

// locker returns the lock that the flags describe.
func (f *lockFlags) locker(client *interlock.Client, key string) interlock.Locker {
	r := rule.Rule{Verb: rule.Lock, Name: f.name, Kind: rule.Kind(f.kind), Wait: f.wait, Lease: f.lease, MaxHold: f.maxHold}
	// A rule treats Wait 0 as its default; --wait 0 means one attempt.
	if f.wait == 0 {
		r.Wait = rule.Try
	}
	return r.Kind.Locker(client.With(r.LockOptions()...), key)
}

// runLocked acquires the lock and runs a command. Ctrl-C cancels the wait for the lock.
// Later, signals go to the command, and the lock is released when the command has ended.
// The lock therefore does not inherit the cancellation of ctx: a Ctrl-C would look like a
// lost lock.
func (p *program) runLocked(ctx context.Context, r *remote, f *execFlags, key string, run *child) error {
	// The AfterFunc passes Ctrl-C on only until stop is called.
	waiting, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	defer stop()
	signals := listen() // before acquiring, so that no signal is lost between waiting and running
	defer signals.stop()
	held, hold, err := f.locker(r.client, key).Lock(waiting)
	if errors.Is(err, interlock.ErrContended) && ctx.Err() == nil {
		return p.notAcquired(ctx, r, key, err)
	}
	if err != nil {
		return err
	}
	defer hold.Unlock() //nolint:errcheck // run reports a lost lock
	// Until here, SIGHUP and SIGQUIT keep their default action and end the wait.
	signals.notifyAll()
	if !stop() { // Ctrl-C arrived before the command started
		return context.Cause(ctx)
	}
	return run.run(held, hold, signals)
}

// A notAcquiredError reports a lock that another holder has.
type notAcquiredError struct {
	key  string
	info interlock.LockInfo // empty if the inspection failed
	err  error
}

// Error implements error.
func (e *notAcquiredError) Error() string { return e.err.Error() }

// Unwrap returns the error of the acquisition.
func (e *notAcquiredError) Unwrap() error { return e.err }

// notAcquired looks up the holder, for the error message. The holder may have changed
// since the refusal, so the message is a hint only.
func (p *program) notAcquired(ctx context.Context, r *remote, key string, err error) error {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	info, _ := r.client.Inspect(ctx, key) // the message works without it
	return &notAcquiredError{key, info, err}
}

// reportExec prints the errors of exec, and returns their exit code.
func (p *program) reportExec(err error) (code int, known bool) {
	var held *notAcquiredError
	var ended *childError
	var lost *stoppedError
	switch {
	case errors.As(err, &held):
		p.printError(p.heldText(held))
		return exitNotAcquired, true
	case errors.As(err, &lost):
		p.printError(p.say(i18n.ExecLost, sanitize.Text(lost.key), lost.err), p.say(i18n.ExecLostHint))
		return exitLost, true
	case errors.As(err, &ended):
		// A command that ran has printed its own errors; exec adds only its exit code.
		if ended.err != nil {
			p.printError(p.say(i18n.CommandNotRun, ended.err))
		}
		return ended.code, true
	}
	return 0, false
}

// heldText names the holder of a lock.
func (p *program) heldText(e *notAcquiredError) string {
	l := admin.Describe(e.info)
	// The inspection failed, or the holder released the lock meanwhile.
	if len(l.Holders) == 0 {
		return p.say(i18n.HeldElsewhere, sanitize.Text(e.key))
	}
	h := l.Holders[0]
	text := p.say(i18n.HeldBy, sanitize.Text(e.key), sanitize.Text(holderName(h.Owner, h.Client)), remaining(millis(h.TTLMS)), h.Fence)
	if more := len(l.Holders) - 1; more > 0 {
		text += p.say(i18n.HeldByMore, more)
	}
	return text
}
