package snippets

import (
	"context"
	"time"

	"github.com/interlock-go/interlock"
)

// Buy sells to the first buyers, across all processes: a fair lock serves its waiters in
// order of arrival.
func Buy(ctx context.Context, client *interlock.Client, sku string, sell func(context.Context) error) error {
	queue := client.Mutex("sale:"+sku, interlock.Fair(), interlock.Wait(10*time.Second))
	return queue.Do(ctx, func(ctx context.Context) error {
		return sell(ctx) // losing the lock cancels ctx
	})
}
