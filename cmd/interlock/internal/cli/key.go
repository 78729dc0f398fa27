package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/cmd/interlock/internal/sanitize"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/gateway/admin"
	"github.com/interlock-go/interlock/guard"
)

// keys groups the commands for the records of guards.
func (p *program) keys() *cobra.Command {
	c := p.group("key", i18n.AboutKeys)
	c.AddCommand(p.keyLs(), p.keyGet(), p.keyResolve(), p.keyExpire())
	return c
}

// states are the values of --state.
var states = []string{engine.Running.String(), engine.Done.String(), engine.Failed.String(), engine.Unknown.String()}

// keyFilter selects the records to list. A guard name cannot be combined with a pattern,
// because it becomes the pattern.
type keyFilter struct{ pattern, guard, state string }

// keyLs is "key ls".
func (p *program) keyLs() *cobra.Command {
	var f operatorFlags
	var which keyFilter
	c := p.operatorCommand("ls [PATTERN] [flags]", i18n.AboutKeyLs, &f, func(c *cobra.Command, r *remote, f *operatorFlags, args []string) error {
		which.pattern = pattern(args)
		return p.listKeys(c, r, f, which)
	})
	c.Example = "  interlock key ls --state unknown\n  interlock key ls 'pay:*' -o json"
	c.Args = func(c *cobra.Command, args []string) error {
		switch {
		case which.state != "" && !slices.Contains(states, which.state):
			return p.badValue(c, "state", which.state, p.say(i18n.OneOf, strings.Join(states, ", ")))
		case which.guard != "" && len(args) > 0:
			return p.misuse(c, p.say(i18n.GoesWithout, "--guard", "PATTERN"), "")
		}
		return p.listArgs(&f)(c, args)
	}
	c.Flags().StringVar(&which.state, "state", "", p.say(i18n.FlagState, strings.Join(states, ", ")))
	c.Flags().StringVar(&which.guard, "guard", "", p.say(i18n.FlagGuard))
	choices(c, "state", states...)
	p.limitFlag(c, &f)
	p.namespaceFlag(c, &f)
	return c
}

// listKeys prints the records, and their number on stderr.
func (p *program) listKeys(c *cobra.Command, r *remote, f *operatorFlags, which keyFilter) error {
	start := time.Now()
	list, err := records(c.Context(), r, which, f.limit)
	if err != nil {
		return err
	}
	if f.output == asJSON {
		return p.json(list)
	}
	rows := [][]string{{p.say(i18n.ColumnGuard), p.say(i18n.ColumnKey), p.say(i18n.ColumnState), p.say(i18n.ColumnFence), p.say(i18n.ColumnBegan), p.say(i18n.ColumnExpiresIn)}}
	for _, k := range list.Claims {
		rows = append(rows, []string{
			sanitize.Short(k.Guard, ownerColumn), sanitize.Short(k.ID, keyColumn), k.State, fmt.Sprint(k.Fence), began(k), remaining(millis(k.TTLMS)),
		})
	}
	if err := p.table(rows); err != nil {
		return err
	}
	p.printNote(p.say(i18n.KeysListed, len(list.Claims), r.name, time.Since(start).Round(100*time.Microsecond)))
	if list.More {
		p.printNote(p.say(i18n.ListedMore, f.limit))
	}
	return nil
}

// records returns up to limit records that match the filter, each once.
func records(ctx context.Context, r *remote, which keyFilter, limit int) (list claimList, err error) {
	list.Claims = []admin.Claim{} // encodes as [], not null
	all, err := guard.NewRecords(r.client)
	if err != nil {
		return list, err
	}
	if which.guard != "" {
		which.pattern = guard.Pattern(which.guard)
	}
	seen := make(map[string]bool)
	// The filter by state runs here, not on the server, so one page may yield few
	// records.
	for cursor := ""; ; {
		page, next, err := all.From(ctx, which.pattern, cursor)
		if err != nil {
			return list, err
		}
		for _, rec := range page {
			// A scan may return a key twice.
			if which.state != "" && rec.State.String() != which.state || seen[rec.Key] {
				continue
			}
			if len(list.Claims) == limit {
				list.More = true // only a further match proves it
				return list, nil
			}
			seen[rec.Key] = true
			list.Claims = append(list.Claims, admin.DescribeClaim(rec).Claim)
		}
		if cursor = next; cursor == "" {
			return list, nil
		}
	}
}

// keyGet is "key get". It prints the size of a stored result, not its content.
func (p *program) keyGet() *cobra.Command {
	var f operatorFlags
	var q admin.KeyQuery
	c := p.operatorCommand("get KEY | RULE --key KEY [flags]", i18n.AboutKeyGet, &f, func(c *cobra.Command, r *remote, f *operatorFlags, args []string) error {
		rec, err := p.find(c, r, args[0], q)
		if err != nil {
			return err
		}
		if f.output == asJSON {
			return p.json(admin.DescribeClaim(rec))
		}
		return p.showKey(admin.DescribeClaim(rec))
	})
	c.Example = "  interlock key get order:Zm9v\n  interlock key get order --user ann --key tok-1"
	c.Args = func(c *cobra.Command, args []string) error {
		if q.Key == "" && (q.User != "" || q.Route != "") {
			return p.misuse(c, p.say(i18n.Missing, "--key"), "")
		}
		return p.oneKey(c, args)
	}
	c.Flags().StringVar(&q.Key, "key", "", p.say(i18n.FlagClientKey))
	c.Flags().StringVar(&q.User, "user", "", p.say(i18n.FlagUser))
	c.Flags().StringVar(&q.Route, "route", "", p.say(i18n.FlagRoute))
	p.namespaceFlag(c, &f)
	return c
}

// namespaceFlag adds --namespace. Locks need none: their keys are listed in full.
func (p *program) namespaceFlag(c *cobra.Command, f *operatorFlags) {
	c.Flags().StringVar(&f.space, "namespace", "", p.say(i18n.FlagNamespace))
}

// find returns a record. Without a client's key, name is the ID of the record. With one,
// name is the name of a rule, and find derives the ID.
func (p *program) find(c *cobra.Command, r *remote, name string, q admin.KeyQuery) (guard.Record, error) {
	if q.Key == "" {
		_, rec, err := p.lookup(c, r, name)
		return rec, err
	}
	ids, err := q.IDs(name)
	if err != nil {
		return guard.Record{}, p.misuse(c, err.Error(), "")
	}
	for _, id := range ids {
		_, rec, err := p.lookup(c, r, id)
		if !errors.Is(err, errNotFound) {
			return rec, err
		}
	}
	return guard.Record{}, fmt.Errorf("%w: %s", errNotFound, p.say(i18n.KeyNotFound, sanitize.Text(name)))
}

// lookup returns the record of a key, and the Records to change it with. A missing record is
// an error.
func (p *program) lookup(c *cobra.Command, r *remote, key string) (*guard.Records, guard.Record, error) {
	all, err := guard.NewRecords(r.client)
	if err != nil {
		return nil, guard.Record{}, err
	}
	rec, err := all.Lookup(c.Context(), key)
	if err != nil {
		return nil, rec, err
	}
	if rec.State == engine.Absent {
		return nil, rec, fmt.Errorf("%w: %s", errNotFound, p.say(i18n.KeyAbsent, sanitize.Text(key)))
	}
	return all, rec, nil
}

// showKey prints the details of a record.
func (p *program) showKey(k admin.ClaimDetail) error {
	all := [][2]string{
		{p.say(i18n.ColumnKey), sanitize.Text(k.ID)}, {p.say(i18n.ColumnGuard), sanitize.Text(k.Guard)}, {p.say(i18n.ColumnState), k.State},
		{p.say(i18n.ColumnFence), fmt.Sprint(k.Fence)}, {p.say(i18n.ColumnBegan), began(k.Claim)}, {p.say(i18n.ColumnExpiresIn), remaining(millis(k.TTLMS))},
	}
	if k.Result != nil {
		text := p.say(i18n.StoredBytes, k.Result.Holds, k.Result.Bytes)
		if k.Result.Encrypted {
			text += p.say(i18n.StoredEncrypted)
		}
		all = append(all, [2]string{p.say(i18n.ColumnStored), text})
	}
	return p.pairs(all)
}

// resolveFlags describe the outcome that an operator decides on. At most one of result,
// response and failure fits an outcome.
type resolveFlags struct{ outcome, result, response, failure string }

// keyResolve is "key resolve", for work whose outcome is unknown, such as after a crash.
func (p *program) keyResolve() *cobra.Command {
	var f operatorFlags
	var v resolveFlags
	var kept []byte // encoded while the arguments are checked, before any connection
	c := p.operatorCommand("resolve KEY --outcome OUTCOME --reason TEXT [flags]", i18n.AboutKeyResolve, &f, func(c *cobra.Command, r *remote, f *operatorFlags, args []string) error {
		return p.resolve(c, r, f, args[0], v.outcome, kept)
	})
	c.Long = p.say(i18n.AboutKeyResolveLong)
	c.Example = "  interlock key resolve pay:Zm9v --outcome done --result '{\"order\": 7}' --reason 'seen at the bank'"
	c.Args = func(c *cobra.Command, args []string) (err error) {
		if err := p.confirmArgs(&f)(c, args); err != nil {
			return err
		}
		kept, err = p.storedResult(c, &f, &v)
		return err
	}
	c.Flags().StringVar(&v.outcome, "outcome", "", p.say(i18n.FlagOutcome))
	c.Flags().StringVar(&v.result, "result", "", p.say(i18n.FlagResult))
	c.Flags().StringVar(&v.response, "response", "", p.say(i18n.FlagResponse))
	c.Flags().StringVar(&v.failure, "error", "", p.say(i18n.FlagError))
	choices(c, "outcome", "done", "failed", "free")
	p.confirmFlags(c, &f)
	p.namespaceFlag(c, &f)
	return c
}

// storedResult validates the flags of resolve and encodes the result to store.
func (p *program) storedResult(c *cobra.Command, f *operatorFlags, v *resolveFlags) ([]byte, error) {
	if _, known := admin.Outcome(v.outcome); !known {
		return nil, p.badValue(c, "outcome", v.outcome, p.say(i18n.OneOf, "done, failed, free"))
	}
	resolution := admin.Resolution{Outcome: v.outcome, Error: v.failure, Reason: f.reason}
	if v.result != "" {
		if !json.Valid([]byte(v.result)) {
			return nil, p.badValue(c, "result", v.result, p.say(i18n.AJSON))
		}
		resolution.Result = json.RawMessage(v.result)
	}
	if v.response != "" {
		d := json.NewDecoder(strings.NewReader(v.response))
		d.DisallowUnknownFields() // a misspelled body would be stored as an empty one
		if err := d.Decode(&resolution.Response); err != nil || resolution.Response == nil || resolution.Response.Status < 100 || resolution.Response.Status > 599 {
			return nil, p.badValue(c, "response", v.response, p.say(i18n.AResponse))
		}
	}
	kept, err := resolution.Stored()
	if err != nil {
		return nil, p.misuse(c, p.say(i18n.OutcomeMismatch), "")
	}
	return kept, nil
}

// resolve records an outcome. The record may have changed since it was looked up, so
// the guard checks again that its outcome is unknown.
func (p *program) resolve(c *cobra.Command, r *remote, f *operatorFlags, key, outcome string, result []byte) error {
	all, rec, err := p.lookup(c, r, key)
	if err != nil {
		return err
	}
	// A known outcome is not overwritten, not even by an operator.
	if rec.State != engine.Unknown {
		return fmt.Errorf("%w: %s", errNotFound, p.say(i18n.KeyKnown, sanitize.Text(key), rec.State))
	}
	if !f.dryRun {
		if err := p.confirm(c, f, key); err != nil {
			return err
		}
		state, _ := admin.Outcome(outcome) // storedResult validated it
		err := all.Resolve(c.Context(), key, state, result)
		if errors.Is(err, guard.ErrNotUnknown) { // resolved by another operator meanwhile
			return fmt.Errorf("%w: %w", errNotFound, err)
		}
		if err != nil {
			return err
		}
	}
	if f.output == asJSON {
		return p.json(decisionJSON{Claim: admin.DescribeClaim(rec).Claim, Outcome: outcome, Reason: f.reason, By: p.operatorName(), DryRun: f.dryRun})
	}
	done := i18n.Resolved
	if f.dryRun {
		done = i18n.WouldResolve
	}
	return p.print([]string{p.say(done, sanitize.Text(key), outcome)})
}

// keyExpire is "key expire". After it, the next request with the key runs again.
func (p *program) keyExpire() *cobra.Command {
	var f operatorFlags
	c := p.operatorCommand("expire KEY --reason TEXT [flags]", i18n.AboutKeyExpire, &f, p.expire)
	c.Long = p.say(i18n.AboutKeyExpireLong)
	c.Args = p.confirmArgs(&f)
	p.confirmFlags(c, &f)
	p.namespaceFlag(c, &f)
	return c
}

// expire deletes a record. The engine refuses if the work began to run after the
// lookup.
func (p *program) expire(c *cobra.Command, r *remote, f *operatorFlags, args []string) error {
	key := args[0]
	all, rec, err := p.lookup(c, r, key)
	if err != nil {
		return err
	}
	if !f.dryRun && rec.State != engine.Running {
		p.printNote(p.say(i18n.WouldExpire, sanitize.Text(key), rec.State))
		if err := p.confirm(c, f, key); err != nil {
			return err
		}
		if rec, err = all.Erase(c.Context(), key); err != nil {
			return err
		}
	}
	// This covers both the lookup and Erase, which returns a running record undeleted.
	if rec.State == engine.Running {
		return fmt.Errorf("%w: %s", errNotFound, p.say(i18n.KeyRuns, sanitize.Text(key)))
	}
	if f.output == asJSON {
		return p.json(decisionJSON{Claim: admin.DescribeClaim(rec).Claim, Outcome: "expired", Reason: f.reason, By: p.operatorName(), DryRun: f.dryRun})
	}
	done := i18n.Expired
	if f.dryRun {
		done = i18n.WouldExpire
	}
	return p.print([]string{p.say(done, sanitize.Text(key), rec.State)})
}
