module github.com/interlock-go/interlock/engine/mysql

go 1.25.0

require (
	github.com/go-sql-driver/mysql v1.9.3
	github.com/interlock-go/interlock v0.0.0
)

require filippo.io/edwards25519 v1.1.0 // indirect
