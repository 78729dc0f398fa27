package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/cmd/interlock/internal/sanitize"
	"github.com/interlock-go/interlock/gateway/admin"
)

const (
	maxListed   = 10_000 // bounds the memory of -o json
	keyColumn   = 64     // width of a key in a table; get and -o json print it in full
	ownerColumn = 40     // width of a holder or a guard in a table
)

// operatorFlags are the flags of lock and key commands.
type operatorFlags struct {
	engine string // empty: INTERLOCK_ENGINE_URL
	space  string // the value of --namespace
	output string // the value of -o
	limit  int    // the value of --limit: 1 to maxListed

	// These fields are for commands that remove something.
	reason string
	yes    bool // skips confirm
	dryRun bool // looks up, but changes nothing and asks for no confirmation
}

// lock groups the commands that inspect and release locks.
func (p *program) lock() *cobra.Command {
	c := p.group("lock", i18n.AboutLock)
	c.AddCommand(p.lockLs(), p.lockGet(), p.lockRelease())
	return c
}

// group returns a command that only has subcommands.
func (p *program) group(name string, about i18n.Text) *cobra.Command {
	return &cobra.Command{Use: name, Short: p.say(about), Args: cobra.ArbitraryArgs, RunE: p.runGroup}
}

// synonyms are the names of the commands in other tools.
var synonyms = map[string][]string{
	"ls": {"list"}, "get": {"show", "inspect", "describe"}, "release": {"unlock", "rm", "delete"}, "expire": {"rm", "delete", "forget"},
}

// operatorCommand returns a command that connects to an engine before it runs. It checks -o
// before it connects, and closes the connection after run.
func (p *program) operatorCommand(use string, about i18n.Text, f *operatorFlags, run func(*cobra.Command, *remote, *operatorFlags, []string) error) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: p.say(about),
		RunE: func(c *cobra.Command, args []string) error {
			if err := p.checkOutput(c, f.output); err != nil {
				return err
			}
			r, err := p.connect(c, f.engine)
			if err != nil {
				return err
			}
			defer r.close(c.Context())
			if f.space != "" {
				r.client = r.client.With(interlock.Prefix(f.space + ":"))
			}
			return r.classify(c.Context(), run(c, r, f, args))
		},
		DisableFlagsInUseLine: true, // Use already lists the flags
	}
	c.SuggestFor = synonyms[c.Name()] // used by unknownCommand, not by cobra
	c.Flags().SortFlags = false
	p.engineFlag(c, &f.engine)
	p.outputFlag(c, &f.output)
	return c
}

// oneKey requires exactly one key.
func (p *program) oneKey(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return p.misuse(c, p.say(i18n.KeyMissing), "")
	}
	return p.noArgs(c, args[1:])
}

// lockLs is "lock ls". It completes no keys, because its argument is a pattern.
func (p *program) lockLs() *cobra.Command {
	var f operatorFlags
	c := p.operatorCommand("ls [PATTERN] [flags]", i18n.AboutLockLs, &f, p.listLocks)
	c.Example = "  interlock lock ls\n  interlock lock ls 'order:*' -o json"
	c.Args = p.listArgs(&f)
	p.limitFlag(c, &f)
	return c
}

// limitFlag adds --limit, whose range listArgs checks.
func (p *program) limitFlag(c *cobra.Command, f *operatorFlags) {
	c.Flags().IntVar(&f.limit, "limit", 100, p.say(i18n.FlagLimit, maxListed))
}

// listArgs allows one pattern, and validates --limit.
func (p *program) listArgs(f *operatorFlags) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > 1 {
			return p.noArgs(c, args[1:])
		}
		if f.limit < 1 || f.limit > maxListed {
			return p.badValue(c, "limit", fmt.Sprint(f.limit), p.between(1, maxListed))
		}
		return nil
	}
}

// pattern returns the first argument; the default matches every key.
func pattern(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return "*"
}

// listLocks prints the locks. The number of waiters is a sum over the listed locks only.
// The table goes to stdout and the totals to stderr.
func (p *program) listLocks(c *cobra.Command, r *remote, f *operatorFlags, args []string) error {
	began := time.Now()
	all, more, err := locks(c.Context(), r.client, pattern(args), f.limit)
	if err != nil {
		return err
	}
	if f.output == asJSON {
		return p.json(lockList{Locks: all, More: more})
	}
	rows := [][]string{{p.say(i18n.ColumnKey), p.say(i18n.ColumnKind), p.say(i18n.ColumnHolder), p.say(i18n.ColumnFence), p.say(i18n.ColumnHeld), p.say(i18n.ColumnLeaseLeft), p.say(i18n.ColumnWaiters)}}
	queue := 0
	for _, l := range all {
		queue += waiting(l)
		rows = append(rows, p.lockRow(l))
	}
	if err := p.table(rows); err != nil {
		return err
	}
	p.printNote(p.say(i18n.LocksListed, len(all), queue, r.name, time.Since(began).Round(100*time.Microsecond)))
	if more {
		p.printNote(p.say(i18n.ListedMore, f.limit))
	}
	return nil
}

// locks returns up to limit locks whose keys match, and whether there are more.
func locks(ctx context.Context, client *interlock.Client, pattern string, limit int) (all []admin.Lock, more bool, err error) {
	all = []admin.Lock{} // encodes as [], not null
	seen := make(map[string]bool)
	for info, err := range client.Locks(ctx, pattern) {
		switch {
		case err != nil:
			return nil, false, err
		case seen[info.Key]: // a scan may return a key twice
			continue
		// Only a further match proves that there are more.
		case len(all) == limit:
			return all, true, nil
		}
		seen[info.Key] = true
		all = append(all, admin.Describe(info).Lock)
	}
	return all, false, nil
}

// lockRow shows the first holder, and how many more there are.
func (p *program) lockRow(l admin.Lock) []string {
	row := []string{sanitize.Short(l.Key, keyColumn), l.Kind, "", "", "", "", fmt.Sprint(waiting(l))}
	if len(l.Holders) > 0 {
		h := l.Holders[0]
		row[2], row[3] = sanitize.Short(holderName(h.Owner, h.Client), ownerColumn), fmt.Sprint(h.Fence)
		row[4], row[5] = heldFor(h), remaining(millis(h.TTLMS))
		if more := len(l.Holders) - 1; more > 0 {
			row[2] += fmt.Sprintf(" +%d", more)
		}
	}
	return row
}

// lockGet is "lock get". Its argument completes to the keys of held locks.
func (p *program) lockGet() *cobra.Command {
	var f operatorFlags
	c := p.operatorCommand("get KEY [flags]", i18n.AboutLockGet, &f, p.getLock)
	c.Args, c.ValidArgsFunction = p.oneKey, p.lockNames(&f)
	return c
}

// getLock prints one lock. A free lock is an error, so that scripts can test for it.
func (p *program) getLock(c *cobra.Command, r *remote, f *operatorFlags, args []string) error {
	info, err := p.inspect(c, r, args[0])
	if err != nil {
		return err
	}
	l := admin.Describe(info)
	if f.output == asJSON {
		return p.json(l)
	}
	return p.showLock(l)
}

// errNotFound means that the lock or record does not exist. It also marks a record in a
// state that the command cannot change: exit code 1, and a text of its own.
var errNotFound = errors.New("not found")

// inspect returns a lock. A lock without holders and waiters is errNotFound. An invalid
// key is a usage error.
func (p *program) inspect(c *cobra.Command, r *remote, key string) (interlock.LockInfo, error) {
	info, err := r.client.Inspect(c.Context(), key)
	switch {
	case errors.Is(err, interlock.ErrKey):
		return info, p.misuse(c, err.Error(), "")
	case err != nil:
		return info, err
	case len(info.Holders) == 0 && len(info.Waiters) == 0:
		return info, fmt.Errorf("%w: %s", errNotFound, p.say(i18n.LockFree, sanitize.Text(key)))
	}
	return info, nil
}

// showLock prints the details of a lock.
func (p *program) showLock(l admin.LockDetail) error {
	all := [][2]string{{p.say(i18n.ColumnKey), sanitize.Text(l.Key)}, {p.say(i18n.ColumnKind), l.Kind}}
	for _, h := range l.Holders {
		text := p.say(i18n.HolderLine, sanitize.Text(holderName(h.Owner, h.Client)), h.Owner, h.Fence, h.Count, heldFor(h), remaining(millis(h.TTLMS)))
		all = append(all, [2]string{p.say(i18n.ColumnHolder), text})
	}
	for i, w := range l.Queue {
		all = append(all, [2]string{fmt.Sprintf("%s %d", p.say(i18n.ColumnWaiter), i+1), sanitize.Text(holderName(w.Owner, w.Client))})
	}
	// Waiters without a position in the queue only listen for the release.
	if l.Listeners > l.Waiters {
		all = append(all, [2]string{p.say(i18n.ColumnWaiters), p.say(i18n.Listening, l.Listeners)})
	}
	return p.pairs(all)
}

// lockRelease is "lock release". Revoking a lock needs a reason and a confirmation.
func (p *program) lockRelease() *cobra.Command {
	var f operatorFlags
	c := p.operatorCommand("release KEY --reason TEXT [flags]", i18n.AboutRelease, &f, p.releaseLock)
	c.Long = p.say(i18n.AboutReleaseLong)
	c.Example = "  interlock lock release order:981 --reason 'stuck deploy'\n" +
		"  interlock lock release order:981 --reason 'stuck deploy' --yes"
	c.Args, c.ValidArgsFunction = p.confirmArgs(&f), p.lockNames(&f)
	p.confirmFlags(c, &f)
	return c
}

// releaseLock shows the holder before it asks for confirmation, so that the operator
// sees what is revoked.
func (p *program) releaseLock(c *cobra.Command, r *remote, f *operatorFlags, args []string) error {
	key := args[0]
	info, err := p.inspect(c, r, key)
	if err != nil {
		return err
	}
	l := admin.Describe(info)
	if len(l.Holders) > 0 {
		h := l.Holders[0]
		p.printNote(p.say(i18n.ReleaseHeld, sanitize.Text(key), sanitize.Text(holderName(h.Owner, h.Client)), h.Fence, waiting(l.Lock)))
	} else {
		// A free lock with a queue: the release empties the queue, and live waiters queue
		// again.
		p.printNote(p.say(i18n.ReleaseQueued, sanitize.Text(key), l.Waiters))
	}
	if !f.dryRun {
		if err := p.confirm(c, f, key); err != nil {
			return err
		}
		if info, err = r.client.ForceRelease(c.Context(), key); err != nil {
			return err
		}
		l = admin.Describe(info) // as it was at the release; the holder may have changed during the confirmation
	}
	if f.output == asJSON {
		return p.json(releaseJSON{Lock: l, Reason: f.reason, By: p.operatorName(), DryRun: f.dryRun})
	}
	done := i18n.Released
	if f.dryRun {
		done = i18n.WouldRelease
	}
	return p.print([]string{p.say(done, sanitize.Text(key), len(l.Holders), l.Waiters)})
}
