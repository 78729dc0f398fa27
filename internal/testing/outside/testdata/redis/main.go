// Redis tries to acquire a lock at an address where no server listens.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/redisengine"
)

func main() {
	ctx := context.Background()
	engine, err := redisengine.Open(ctx, "redis://127.0.0.1:1/0")
	if err == nil {
		err = interlock.New(engine).Mutex("order:42").Do(ctx, func(context.Context) error { return nil })
	}
	if err == nil {
		log.Fatal("acquired a lock without a server, want an error")
	}
	fmt.Println(err)
}
