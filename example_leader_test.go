package interlock_test

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock"
)

// Run campaigns, and calls the function while it leads. In a service, ctx ends at shutdown.
func ExampleLeader_Run() {
	ctx, stop := context.WithCancel(ctx)

	err := client.Leader("billing").Run(ctx, func(ctx context.Context) error {
		fence, _ := interlock.Fence(ctx)
		fmt.Println("this process leads, with a fence:", fence > 0)
		stop()
		<-ctx.Done() // the leadership was lost, or the service stops
		return ctx.Err()
	})
	fmt.Println(err)
	// Output:
	// this process leads, with a fence: true
	// interlock: lead "billing": context canceled
}

// Campaign takes a context and returns one, for code that does not fit into a function.
func ExampleLeader_Campaign() {
	leader := client.Leader("reports")
	lead := func(ctx context.Context) error {
		ctx, hold, err := leader.Campaign(ctx)
		if err != nil {
			return err
		}
		defer hold.Unlock()

		return ship(ctx, 42) // ctx is cancelled if the leadership is lost
	}
	fmt.Println(lead(ctx))
	// Output: <nil>
}

// Followers send requests to the address that the leader announced.
func ExampleLeader_Observe() {
	leader := client.Leader("orders", interlock.Announce("10.0.0.7:8080"))
	_, hold, _ := leader.Campaign(ctx)

	for now, err := range client.Leader("orders").Observe(ctx) {
		switch {
		case err != nil:
			fmt.Println("the leader is unknown:", err)
		case now.Fence == 0:
			fmt.Println("no leader")
			return
		default:
			fmt.Println("leader", now.Term, "is at", now.Value)
			hold.Unlock()
		}
	}
	// Output:
	// leader 1 is at 10.0.0.7:8080
	// no leader
}

// Current looks once.
func ExampleLeader_Current() {
	now, err := client.Leader("mail").Current(ctx)
	fmt.Println(now.Fence > 0, err)
	// Output: false <nil>
}
