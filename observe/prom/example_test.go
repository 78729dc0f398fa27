package prom_test

import (
	"context"
	"fmt"
	"net/http"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/observe/prom"
)

// A program serves its metrics. Every lock and guard of the client is in them.
func ExampleNew() {
	client := interlock.New(nil, interlock.WithName("pay")) // an engine in this process
	http.Handle("GET /metrics", prom.New(client).Handler())

	orders := guard.Must(guard.New[string](client, guard.Policy{Name: "orders"}))
	for range 3 { // a customer clicks three times
		_, _ = orders.Do(context.Background(), guard.Of("ann", "order-42"), func(context.Context) (string, error) {
			return "created", nil
		})
	}
	calls := guard.StatsOf(client)["orders"].Verdicts
	fmt.Println(calls[guard.Granted], "executed,", calls[guard.Replayed], "replayed")
	// Output: 1 executed, 2 replayed
}
