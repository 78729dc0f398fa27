package main

import (
	"context"
	"strings"
)

// rawWrites is the least that a guard with two entries a record can cost: the claim's
// entry comes, and goes when the result's does. No library, no script, nothing is
// compared; keys and entries are about as long as ours are.
func rawWrites(name string) contender {
	var (
		digest = strings.Repeat("x", 28) // with what makes it a new one each time, about as long as ours
		claim  = strings.Repeat("c", 80)
		result = strings.Repeat("r", 190)
	)
	open := func(_ context.Context, addr string) (locks, error) {
		client, err := connect(addr)
		if err != nil {
			return locks{}, err
		}
		next := fresh()
		return locks{
			cycle: func(ctx context.Context, _ string) error {
				id := "{bench:" + digest + next(1) + "}"
				entry := "interlock_claim:" + id
				if err := client.Do(ctx, client.B().Set().Key(entry).Value(claim).Nx().Px(lifetime).Build()).Error(); err != nil {
					return err
				}
				for _, r := range client.DoMulti(ctx,
					client.B().Del().Key(entry).Build(),
					client.B().Set().Key("interlock_record:"+id).Value(result).Px(kept).Build(),
				) {
					if err := r.Error(); err != nil {
						return err
					}
				}
				return nil
			},
			close: client.Close,
		}, nil
	}
	return contender{name: name, sends: []string{"set", "del"}, open: open}
}
