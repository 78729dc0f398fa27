package redisengine_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/redisengine"
)

var ctx = context.Background()

func pay(context.Context) error { return nil }

func ExampleOpen() {
	engine, err := redisengine.Open(ctx, "redis://localhost:6379/0?timeout=2s&prefix=shop:")
	if err != nil {
		fmt.Println(err) // names the cause and the remedy
		return
	}
	defer engine.Close()

	client := interlock.New(engine)
	err = client.Mutex("order:42", interlock.Wait(3*time.Second)).Do(ctx, pay)
	fmt.Println(err)
}

// New uses a rueidis client that the program already has.
func ExampleNew() {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress:      []string{"localhost:6379"},
		ConnWriteTimeout: 2 * time.Second,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	engine := redisengine.New(client)
	defer engine.Close() // does not close the client

	fmt.Println(interlock.New(engine).Mutex("order:42").Do(ctx, pay))
}
