module github.com/interlock-go/interlock/cmd/interlock

go 1.26.0

require (
	github.com/interlock-go/interlock v0.0.0
	github.com/interlock-go/interlock/engine/redisengine v0.0.0
	github.com/interlock-go/interlock/gateway v0.0.0
	github.com/interlock-go/interlock/weave v0.0.0
	github.com/rogpeppe/go-internal v1.16.0
	github.com/spf13/cobra v1.10.2
	github.com/spf13/pflag v1.0.10
)

require (
	github.com/danielgtaylor/huma/v2 v2.37.2 // indirect
	github.com/fsnotify/fsnotify v1.10.1 // indirect
	github.com/go-jose/go-jose/v4 v4.1.3 // indirect
	github.com/goccy/go-yaml v1.19.2 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/redis/rueidis v1.0.79 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/time v0.16.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
)
