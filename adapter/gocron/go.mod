module github.com/interlock-go/interlock/adapter/gocron

go 1.25.0

require (
	github.com/go-co-op/gocron/v2 v2.21.2
	github.com/google/uuid v1.6.0
	github.com/interlock-go/interlock v0.0.0
	github.com/interlock-go/interlock/engine/redisengine v0.0.0
	github.com/jonboulle/clockwork v0.5.0
)

require (
	github.com/redis/rueidis v1.0.79 // indirect
	github.com/robfig/cron/v3 v3.0.1 // indirect
	golang.org/x/sys v0.47.0 // indirect
)
