package redisengine_test

import (
	"fmt"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/quorum"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/engine/standby"
)

// Five independent servers form one engine. Two of them may be down, even when the
// process starts.
func Example_quorum() {
	var nodes []engine.Engine
	for _, host := range []string{"redis-1", "redis-2", "redis-3", "redis-4", "redis-5"} {
		node, err := redisengine.Open(ctx, "redis://"+host+"?lazy=true")
		if err != nil {
			fmt.Println(err)
			return
		}
		defer node.Close()
		nodes = append(nodes, node)
	}
	most, err := quorum.New(nodes)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer most.Close()
	client := interlock.New(most)
	fmt.Println(client.Mutex("order:42", interlock.Fenced()).Do(ctx, pay))
}

// Two servers, one of which is active. An operator chooses it with interlock switch, or a
// program with Switch.
func Example_standby() {
	primary, err := redisengine.Open(ctx, "redis://here?lazy=true")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer primary.Close()
	secondary, err := redisengine.Open(ctx, "redis://there?lazy=true")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer secondary.Close()
	both, err := standby.New(ctx, primary, secondary)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer both.Close()
	client := interlock.New(both)
	fmt.Println(client.Mutex("order:42").Do(ctx, pay))
}
