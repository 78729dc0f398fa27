package snippets

import (
	"context"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
)

// Importer imports a day once, however many callers start it. Later callers wait and get
// the number of rows.
func Importer(client *interlock.Client, load func(context.Context, string) (int, error)) (
	func(context.Context, string) (int, error), error) {
	policy := guard.Import("import")
	policy.OnDuplicate, policy.Wait = guard.Wait, time.Minute
	days, err := guard.New[int](client, policy)
	if err != nil {
		return nil, err
	}
	return guard.Wrap(days, guard.ID, load), nil
}
