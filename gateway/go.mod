module github.com/interlock-go/interlock/gateway

go 1.26.0

require github.com/interlock-go/interlock v0.0.0
