module github.com/interlock-go/interlock/gateway

go 1.26.0

require (
	github.com/danielgtaylor/huma/v2 v2.37.2
	github.com/fsnotify/fsnotify v1.10.1
	github.com/go-jose/go-jose/v4 v4.1.3
	github.com/goccy/go-yaml v1.19.2
	github.com/google/jsonschema-go v0.4.3
	github.com/interlock-go/interlock v0.0.0
	golang.org/x/time v0.16.0
)

require golang.org/x/sys v0.41.0 // indirect
