package torture

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/etcd"
	"github.com/interlock-go/interlock/engine/mysql"
	"github.com/interlock-go/interlock/engine/postgres"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/engine/zookeeper"
	"github.com/interlock-go/interlock/internal/testing/etcdtest"
	"github.com/interlock-go/interlock/internal/testing/mysqltest"
	"github.com/interlock-go/interlock/internal/testing/postgrestest"
	"github.com/interlock-go/interlock/internal/testing/zookeepertest"
)

// A closer is an engine that is closed after use.
type closer interface {
	engine.Engine
	Close() error
}

// openEngine opens the engine of a URL.
func openEngine(ctx context.Context, url string) (closer, error) {
	switch scheme, _, _ := strings.Cut(url, "://"); scheme {
	case "postgres":
		return postgres.Open(ctx, url)
	case "mysql":
		return mysql.Open(ctx, url)
	case "etcd":
		return etcd.Open(ctx, url)
	case "zk":
		return zookeeper.Open(ctx, url)
	case "redis", "redis+sentinel", "redis+cluster":
		return redisengine.Open(ctx, url)
	default:
		return nil, fmt.Errorf("no engine has URLs that begin with %q", scheme)
	}
}

// A target is a server that tests start.
type target struct {
	addr string // host and port
	url  string // without parameters of the engine

	kill, restart func(t *testing.T)
}

// through returns the URL of the server by way of a proxy, with parameters.
func (x target) through(addr, parameters string) string {
	url := strings.Replace(x.url, x.addr, addr, 1)
	if strings.Contains(url, "?") {
		return url + "&" + parameters
	}
	return url + "?" + parameters
}

// startTarget starts the server of an engine, with an empty database.
var startTarget = map[string]func(t *testing.T) target{
	"PostgreSQL": func(t *testing.T) target {
		s := postgrestest.StartServer(t)
		return migrated(t, s.Create(t))
	},
	"MySQL": func(t *testing.T) target {
		return migratedMySQL(t, mysqltest.StartServer(t).Create(t))
	},
	"etcd": func(t *testing.T) target {
		m := etcdtest.Start(t)
		return target{m.Addr(), m.URL(), func(*testing.T) { m.Kill() }, func(*testing.T) { m.Restart() }}
	},
	"ZooKeeper": func(t *testing.T) target {
		s := zookeepertest.Start(t)
		return target{s.Addr(), s.URL(), func(*testing.T) { s.Kill() }, func(t *testing.T) { s.Restart(t) }}
	},
}

// migrated creates the schema of the engine in a database.
func migrated(t *testing.T, d *postgrestest.Database) target {
	t.Helper()
	if _, err := postgres.Migrate(t.Context(), d.URL()); err != nil {
		t.Fatal(err)
	}
	return target{d.Server.Addr(), d.URL(), func(t *testing.T) { d.Server.Kill(t) }, func(t *testing.T) { d.Server.Restart(t) }}
}

// migratedMySQL creates the tables of the engine in a database.
func migratedMySQL(t *testing.T, d *mysqltest.Database) target {
	t.Helper()
	if _, err := mysql.Migrate(t.Context(), d.URL()); err != nil {
		t.Fatal(err)
	}
	return target{d.Server.Addr(), d.URL(), func(t *testing.T) { d.Server.Kill(t) }, func(t *testing.T) { d.Server.Restart(t) }}
}
