package snippets

import (
	"context"
	"time"

	"github.com/interlock-go/interlock"
)

// Deduct takes money from an account, one request at a time. The fence grows with
// every holder: a database that refuses a lower one is safe from who comes late.
func Deduct(ctx context.Context, client *interlock.Client, account string, write func(ctx context.Context, fence uint64) error) error {
	ctx, hold, err := client.Mutex("account:"+account, interlock.Wait(5*time.Second)).Lock(ctx)
	if err != nil {
		return err // busy: errors.Is(err, interlock.ErrContended)
	}
	defer hold.Unlock() //nolint:errcheck // what cannot be given back runs out
	return write(ctx, hold.Fence())
}
