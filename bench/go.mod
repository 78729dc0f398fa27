module github.com/interlock-go/interlock/bench

go 1.26.0
