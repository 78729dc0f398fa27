package snippets

import (
	"context"

	"github.com/interlock-go/interlock"
)

// Count reads the stock. Readers may overlap; writers wait.
func Count(ctx context.Context, client *interlock.Client, sku string, count func(context.Context) error) error {
	return client.RWMutex("stock:"+sku).Read().Do(ctx, count)
}

// Take changes the stock while no reader or other writer is active.
func Take(ctx context.Context, client *interlock.Client, sku string, take func(context.Context) error) error {
	return client.RWMutex("stock:"+sku).Write().Do(ctx, take)
}
