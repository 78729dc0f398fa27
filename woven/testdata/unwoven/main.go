// Command unwoven is a program with a directive. A test compiles it without weaving.
package main

import (
	"fmt"

	_ "github.com/interlock-go/interlock/on"
)

//interlock:lock name=greet on-timeout=panic
func greet() { fmt.Println("hello without a lock") }

func main() { greet() }
