module github.com/interlock-go/interlock/engine/redisengine/goredis

go 1.26.0

require (
	github.com/interlock-go/interlock v0.0.0
	github.com/interlock-go/interlock/engine/redisengine v0.0.0
	github.com/redis/go-redis/v9 v9.23.0
)
