module github.com/interlock-go/interlock/cmd/interlock

go 1.26.0
