module github.com/interlock-go/interlock/adapter/kafka

go 1.26.0

require (
	github.com/interlock-go/interlock v0.0.0
	github.com/twmb/franz-go v1.22.2
)

require (
	github.com/redis/rueidis v1.0.79 // indirect
	golang.org/x/sys v0.47.0 // indirect
)

require (
	github.com/interlock-go/interlock/engine/redisengine v0.0.0
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/pierrec/lz4/v4 v4.1.33 // indirect
	github.com/twmb/franz-go/pkg/kfake v0.0.0-20260918054303-01f206a7e32c
	github.com/twmb/franz-go/pkg/kmsg v1.15.0
)
