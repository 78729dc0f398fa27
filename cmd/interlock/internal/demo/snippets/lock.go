package snippets

import (
	"context"
	"time"

	"github.com/interlock-go/interlock"
)

// Deduct takes money from an account, one request at a time. The fence grows with every
// holder: a database that refuses a lower fence is safe from late writes.
func Deduct(ctx context.Context, client *interlock.Client, account string, write func(ctx context.Context, fence uint64) error) error {
	ctx, hold, err := client.Mutex("account:"+account, interlock.Wait(5*time.Second)).Lock(ctx)
	if err != nil {
		return err // ErrContended if another holder has the lock
	}
	defer hold.Unlock() //nolint:errcheck // an unreleased lock expires
	return write(ctx, hold.Fence())
}
