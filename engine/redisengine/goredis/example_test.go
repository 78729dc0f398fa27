package goredis_test

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/redisengine/goredis"
)

func ExampleNew() {
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	defer client.Close()

	engine := goredis.New(client)
	defer engine.Close() // leaves the client open

	ctx := context.Background()
	err := interlock.New(engine).Mutex("order:42").Do(ctx, func(ctx context.Context) error {
		return nil // the work
	})
	fmt.Println(err)
}
