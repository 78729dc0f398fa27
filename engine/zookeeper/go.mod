module github.com/interlock-go/interlock/engine/zookeeper

go 1.25.0

require (
	github.com/go-zookeeper/zk v1.0.4
	github.com/interlock-go/interlock v0.0.0
)
