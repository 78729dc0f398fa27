module github.com/interlock-go/interlock/adapter/asynq

go 1.25.0

require (
	github.com/hibiken/asynq v0.26.0
	github.com/interlock-go/interlock v0.0.0
)

require github.com/redis/rueidis v1.0.79 // indirect

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dgryski/go-rendezvous v0.0.0-20200823014737-9f7001d12a5f // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/interlock-go/interlock/engine/redisengine v0.0.0
	github.com/redis/go-redis/v9 v9.14.1 // indirect
	github.com/robfig/cron/v3 v3.0.1 // indirect
	github.com/spf13/cast v1.10.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/time v0.14.0 // indirect
	google.golang.org/protobuf v1.36.10 // indirect
)
