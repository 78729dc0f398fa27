// Embedded locks without a server.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/interlock-go/interlock"
)

func main() {
	client := interlock.New(nil)
	err := client.Mutex("order:42").Do(context.Background(), func(context.Context) error {
		fmt.Println("one at a time")
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
}
