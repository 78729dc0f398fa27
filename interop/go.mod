module github.com/interlock-go/interlock/interop

go 1.26.0

require (
	github.com/interlock-go/interlock v0.0.0
	github.com/interlock-go/interlock/engine/redisengine v0.0.0
)

require (
	github.com/redis/rueidis v1.0.79 // indirect
	golang.org/x/sys v0.47.0 // indirect
)
