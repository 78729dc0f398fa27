package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/cmd/interlock/internal/lang"
	"github.com/interlock-go/interlock/cmd/interlock/internal/shown"
	"github.com/interlock-go/interlock/engine"
)

func (p *program) keys() *cobra.Command {
	c := p.family("key", lang.AboutKeys)
	c.AddCommand(p.keyLs(), p.keyGet())
	return c
}

// states are what --state may be.
var states = []string{engine.Running.String(), engine.Done.String(), engine.Failed.String(), engine.Unknown.String()}

func (p *program) keyLs() *cobra.Command {
	var f operatorFlags
	var state, guard string
	c := p.verb("ls [PATTERN] [flags]", lang.AboutKeyLs, &f, func(c *cobra.Command, r *remote, f *operatorFlags, args []string) error {
		if state != "" && !slices.Contains(states, state) {
			return p.badValue(c, "state", state, p.say(lang.OneOf, strings.Join(states, ", ")))
		}
		return p.listKeys(c, r, f, pattern(args), func(rec engine.Record) bool {
			return (state == "" || rec.State.String() == state) && (guard == "" || guardOf(rec.Key) == guard)
		})
	})
	c.Example = "  interlock key ls --state unknown\n  interlock key ls 'pay:*' -o json"
	c.Args = p.listArgs(&f)
	c.Flags().StringVar(&state, "state", "", p.say(lang.FlagState, strings.Join(states, ", ")))
	c.Flags().StringVar(&guard, "guard", "", p.say(lang.FlagGuard))
	p.limitFlag(c, &f)
	return c
}

func (p *program) listKeys(c *cobra.Command, r *remote, f *operatorFlags, pattern string, wanted func(engine.Record) bool) error {
	began := time.Now()
	list := keyList{Keys: []keyJSON{}}
	seen := make(map[string]bool)
	for cursor := ""; ; {
		records, next, err := r.engine.Capabilities().Ledger.List(c.Context(), pattern, cursor)
		if err != nil {
			return err
		}
		for _, rec := range records {
			if !wanted(rec) || seen[rec.Key] {
				continue
			}
			if len(list.Keys) == f.limit {
				list.More = true
				break
			}
			seen[rec.Key] = true
			list.Keys = append(list.Keys, keyOf(rec))
		}
		if cursor = next; cursor == "" || list.More {
			break
		}
	}
	if f.output == asJSON {
		return p.json(list)
	}
	return p.showKeys(list, r, f, time.Since(began))
}

func (p *program) showKeys(list keyList, r *remote, f *operatorFlags, took time.Duration) error {
	rows := [][]string{{p.say(lang.ColumnGuard), p.say(lang.ColumnKey), p.say(lang.ColumnState), p.say(lang.ColumnFence), p.say(lang.ColumnAge), p.say(lang.ColumnLeft)}}
	for _, k := range list.Keys {
		rows = append(rows, []string{
			shown.Short(k.Guard, ownerColumn), shown.Short(k.Key, keyColumn), k.State, fmt.Sprint(k.Fence), lasting(k.age()), lasting(k.left()),
		})
	}
	if err := p.table(rows); err != nil {
		return err
	}
	p.remark(p.say(lang.KeysListed, len(list.Keys), r.name, took.Round(100*time.Microsecond)))
	if list.More {
		p.remark(p.say(lang.ListedMore, f.limit))
	}
	return nil
}

func (p *program) keyGet() *cobra.Command {
	var f operatorFlags
	c := p.verb("get KEY [flags]", lang.AboutKeyGet, &f, func(c *cobra.Command, r *remote, f *operatorFlags, args []string) error {
		rec, err := p.lookup(c, r, args[0])
		if err != nil {
			return err
		}
		k := keyOf(rec)
		if f.output == asJSON {
			return p.json(k)
		}
		return p.pairs([][2]string{
			{p.say(lang.ColumnKey), shown.Text(k.Key)}, {p.say(lang.ColumnGuard), shown.Text(k.Guard)}, {p.say(lang.ColumnState), k.State},
			{p.say(lang.ColumnFence), fmt.Sprint(k.Fence)}, {p.say(lang.ColumnAge), lasting(k.age())}, {p.say(lang.ColumnLeft), lasting(k.left())},
			{p.say(lang.ColumnPrint), shown.Text(k.Fingerprint)}, {p.say(lang.ColumnSize), p.say(lang.Bytes, len(rec.Result))},
		})
	})
	c.Args = p.oneKey
	return c
}

// lookup finds the record of a key that something is known of.
func (p *program) lookup(c *cobra.Command, r *remote, key string) (engine.Record, error) {
	rec, err := r.engine.Capabilities().Ledger.Lookup(c.Context(), key)
	if err != nil {
		return rec, err
	}
	if rec.State == engine.Absent {
		return rec, fmt.Errorf("%w: %s", errNothing, p.say(lang.KeyAbsent, shown.Text(key)))
	}
	rec.Key = key
	return rec, nil
}
