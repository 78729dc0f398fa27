package snippets

import (
	"context"
	"time"

	"github.com/interlock-go/interlock"
)

// Buy sells to those who clicked first, over all processes: a fair lock goes to
// those who wait in the order in which they came.
func Buy(ctx context.Context, client *interlock.Client, sku string, sell func(context.Context) error) error {
	line := client.Mutex("sale:"+sku, interlock.Fair(), interlock.Wait(10*time.Second))
	return line.Do(ctx, func(ctx context.Context) error {
		return sell(ctx) // ctx ends if the lock is lost
	})
}
