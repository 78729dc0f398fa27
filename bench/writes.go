package main

import (
	"context"
	"strings"
)

// rawWrites makes the writes of a guard and nothing else, which is the least that a guard can
// cost: SET the key of the claim, then DEL it and SET the key of the result. It uses no
// scripts and compares nothing. Keys and values are about as long as a guard's.
func rawWrites(name string) contender {
	var (
		digest = strings.Repeat("x", 28) // with the unique suffix, about as long as a real digest
		claim  = strings.Repeat("c", 80)
		result = strings.Repeat("r", 190)
	)
	open := func(_ context.Context, addr string) (locks, error) {
		client, err := connect(addr)
		if err != nil {
			return locks{}, err
		}
		next := uniqueNames()
		return locks{
			cycle: func(ctx context.Context, _ string) error {
				id := "{bench:" + digest + next(1) + "}"
				entry := "interlock_claim:" + id
				if err := client.Do(ctx, client.B().Set().Key(entry).Value(claim).Nx().Px(lockLease).Build()).Error(); err != nil {
					return err
				}
				for _, r := range client.DoMulti(ctx,
					client.B().Del().Key(entry).Build(),
					client.B().Set().Key("interlock_record:"+id).Value(result).Px(resultRetention).Build(),
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
