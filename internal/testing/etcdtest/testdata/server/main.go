// Command server is etcd. It is a module of its own, so that our modules do not require the
// server.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
