module github.com/interlock-go/interlock/adapter/cron

go 1.25.0

require (
	github.com/interlock-go/interlock v0.0.0
	github.com/robfig/cron/v3 v3.0.1
)
