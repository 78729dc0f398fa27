module github.com/interlock-go/interlock/adapter/cron

go 1.25.0

require (
	github.com/interlock-go/interlock v0.0.0
	github.com/interlock-go/interlock/engine/redisengine v0.0.0
	github.com/robfig/cron/v3 v3.0.1
)

require (
	github.com/redis/rueidis v1.0.79 // indirect
	golang.org/x/sys v0.47.0 // indirect
)
