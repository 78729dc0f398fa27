package zookeeper_test

import (
	"context"
	"fmt"
	"log"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/zookeeper"
)

func ExampleOpen() {
	ctx := context.Background()
	e, err := zookeeper.Open(ctx, "zk://zk1:2181,zk2:2181,zk3:2181/interlock?timeout=2s")
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	client := interlock.New(e)
	defer client.Close(ctx)
	err = client.Mutex("order:42").Do(ctx, func(ctx context.Context) error {
		fmt.Println("the lock is held")
		return nil
	})
	if err != nil {
		log.Print(err)
	}
}
