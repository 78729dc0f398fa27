package standby_test

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/engine/standby"
)

// Two engines are used as one, and an operator switches to the other. A real program
// opens two Redis servers with redisengine.Open.
func Example() {
	ctx := context.Background()
	e, err := standby.New(ctx, memory.New(), memory.New(), standby.Name("ops"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	client := interlock.New(e)
	defer client.Close(ctx)
	err = client.Mutex("order:42").Do(ctx, func(context.Context) error {
		fmt.Println("one at a time, on the", e.State().Side)
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := e.Switch(ctx, standby.Standby)
	fmt.Println("written on", len(report.Written), "sides, error:", err)
	fmt.Println("nothing is granted for a while:", report.Freeze > interlock.DefaultLease)
	// Output:
	// one at a time, on the primary
	// written on 2 sides, error: <nil>
	// nothing is granted for a while: true
}
