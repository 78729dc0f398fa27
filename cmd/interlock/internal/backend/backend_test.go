package backend_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/cmd/interlock/internal/backend"
	"github.com/interlock-go/interlock/engine"
)

// down is one URL of each kind, of servers that are not there.
var down = []struct {
	name    string
	url     string
	product engine.Product
}{
	{"Redis", "redis://me:hunter2@127.0.0.1:1", engine.Redis},
	{"PostgreSQL", "postgres://me:hunter2@127.0.0.1:1/shop", engine.PostgreSQL},
	{"PostgreSQL", "postgresql://127.0.0.1:1/shop", engine.PostgreSQL},
	{"MySQL", "mysql://me:hunter2@127.0.0.1:1/shop", engine.MySQL},
	{"MySQL", "mariadb://127.0.0.1:1/shop", engine.MySQL},
	{"etcd", "etcd://127.0.0.1:1", engine.Etcd},
	{"etcd", "etcd://me:hunter2@127.0.0.1:1,127.0.0.1:2", engine.Etcd},
	{"ZooKeeper", "zk://me:hunter2@127.0.0.1:1/locks", engine.ZooKeeper},
}

func TestOpen(t *testing.T) {
	for _, d := range down {
		t.Run("an unreachable engine: "+d.url, func(t *testing.T) {
			t.Parallel()
			if !backend.Known(d.url) || backend.Name(d.url) != d.name {
				t.Errorf("Known is %v and Name is %q, want true and %q", backend.Known(d.url), backend.Name(d.url), d.name)
			}
			e, err := backend.Open(t.Context(), d.url+"?timeout=200ms", false)
			if !errors.Is(err, engine.ErrUnavailable) || e != nil {
				t.Fatalf("Open returns %v and the error %v, want nil and ErrUnavailable", e, err)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error contains the password: %v", err)
			}
		})
	}
	t.Run("lazily, servers may be down", func(t *testing.T) {
		t.Parallel()
		for _, url := range []string{"redis://127.0.0.1:1", "postgres://127.0.0.1:1/shop", "mysql://127.0.0.1:1/shop", "etcd://127.0.0.1:1", "zk://127.0.0.1:1"} {
			e, err := backend.Open(t.Context(), url+"?timeout=200ms", true)
			if err != nil {
				t.Errorf("Open(%s) fails with %v, want an engine", url, err)
				continue
			}
			if err := e.Close(); err != nil {
				t.Errorf("Close of %s fails with %v", url, err)
			}
		}
	})
	t.Run("an unknown scheme is named without the password", func(t *testing.T) {
		t.Parallel()
		_, err := backend.Open(t.Context(), "oracle://me:hunter2@a", false)
		if err == nil || !strings.Contains(err.Error(), `"oracle://"`) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Open fails with %v, want an error that names only oracle://", err)
		}
	})
}

func TestProbeReportsServersThatAreDown(t *testing.T) {
	for _, d := range down {
		t.Run(d.url, func(t *testing.T) {
			t.Parallel()
			h, err := backend.Probe(t.Context(), d.url+"?timeout=200ms")
			if err != nil || h.Product != d.product || len(h.Nodes) == 0 {
				t.Fatalf("Probe returns %+v and the error %v, want a report about %s", h, err, d.product)
			}
			for _, n := range h.Nodes {
				if n.Err == nil || strings.Contains(n.Err.Error(), "hunter2") {
					t.Errorf("the node %s has the error %v, want one without the password", n.Addr, n.Err)
				}
			}
		})
	}
}

func TestMigrate(t *testing.T) {
	for _, d := range down {
		if got, want := backend.Migrates(d.url), d.product == engine.PostgreSQL || d.product == engine.MySQL; got != want {
			t.Errorf("Migrates(%s) is %v, want %v", d.url, got, want)
		}
		if d.product == engine.PostgreSQL || d.product == engine.MySQL {
			continue
		}
		if changed, err := backend.Migrate(t.Context(), d.url); changed || err != nil {
			t.Errorf("Migrate(%s) returns %v and %v, want that it does nothing", d.url, changed, err)
		}
	}
	if _, err := backend.Migrate(t.Context(), "oracle://a"); err == nil {
		t.Error("Migrate accepts an unknown scheme")
	}
}

func TestMeant(t *testing.T) {
	for url, want := range map[string]string{
		"postgress://a": "postgres://", "zookeeper://a": "zk://", "ZooKeeper://a": "zk://", "redi://a": "redis://", "PostgreSQL://a": "postgres://",
		"etdc://a": "etcd://", "localhost:6379": "", "redis://a": "", "http://a": "",
	} {
		if got := backend.Meant(url); got != want {
			t.Errorf("Meant(%q) is %q, want %q", url, got, want)
		}
	}
}
