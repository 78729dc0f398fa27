package snippets

import (
	"context"

	"github.com/interlock-go/interlock"
)

// Count reads the stock beside others who read; nobody changes it meanwhile.
func Count(ctx context.Context, client *interlock.Client, sku string, count func(context.Context) error) error {
	return client.RWMutex("stock:"+sku).Read().Do(ctx, count)
}

// Take changes the stock, alone.
func Take(ctx context.Context, client *interlock.Client, sku string, take func(context.Context) error) error {
	return client.RWMutex("stock:"+sku).Write().Do(ctx, take)
}
