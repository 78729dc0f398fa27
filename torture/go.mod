module github.com/interlock-go/interlock/torture

go 1.26.0
