package etcd_test

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/etcd"
)

var ctx = context.Background()

func pay(context.Context) error { return nil }

func ExampleOpen() {
	engine, err := etcd.Open(ctx, "etcd://user:password@host1:2379,host2:2379,host3:2379?timeout=2s&prefix=shop/")
	if err != nil {
		fmt.Println(err) // names the cause and the remedy
		return
	}
	defer engine.Close()

	client := interlock.New(engine)
	err = client.Mutex("order:42", interlock.Wait(3*time.Second)).Do(ctx, pay)
	fmt.Println(err)
}
