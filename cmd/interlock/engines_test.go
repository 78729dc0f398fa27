package main_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/testing/etcdtest"
	"github.com/interlock-go/interlock/internal/testing/mysqltest"
	"github.com/interlock-go/interlock/internal/testing/postgrestest"
	"github.com/interlock-go/interlock/internal/testing/zookeepertest"
)

// needsServer skips tests whose servers are optional outside of make verify.
func needsServer(t *testing.T, name string) {
	t.Helper()
	if os.Getenv("INTERLOCK_VERIFY") == "" {
		t.Skipf("needs %s: make verify runs it", name)
	}
}

func TestPostgres(t *testing.T) {
	needsServer(t, "PostgreSQL")
	s := postgrestest.StartServer(t, "-c", "idle_in_transaction_session_timeout=60s")
	t.Run("every command", func(t *testing.T) {
		t.Parallel()
		url := s.Create(t).URL()
		start(t, nil, "engine", "migrate", url).expect(t, 0, "PostgreSQL "+s.Addr(), "the schema was created or migrated")
		commands(t, url, "PostgreSQL at "+s.Addr())
	})
	t.Run("migrate says what it did", func(t *testing.T) {
		t.Parallel()
		url := s.Create(t).URL()
		start(t, nil, "doctor", "--engine", url).expect(t, 5, "✗ schema", "interlock engine migrate")
		start(t, nil, "lock", "ls", "--engine", url).expect(t, 1, "run interlock engine migrate")
		start(t, []string{"INTERLOCK_ENGINE_URL=" + url}, "engine", "migrate").expect(t, 0, "created or migrated")
		start(t, nil, "engine", "migrate", "--engine", url).expect(t, 0, "up to date")
		start(t, nil, "engine", "migrate", "--lang=zh", url).expect(t, 0, "什么也没改")
	})
	t.Run("the doctor names the problems of the settings", func(t *testing.T) {
		t.Parallel()
		d := s.Create(t)
		start(t, nil, "engine", "migrate", d.URL()).expect(t, 0)
		// The server of the tests does not sync.
		start(t, nil, "doctor", "--engine", d.URL()).expect(t, 0, "PostgreSQL", "! fsync-off", "ALTER SYSTEM SET fsync = on")
		start(t, nil, "doctor", "--lang=zh", "--engine", d.URL()).expect(t, 0, "断电可能损坏数据库")
		d.Exec(t, "CREATE ROLE reader_"+d.Name+" LOGIN; GRANT USAGE ON SCHEMA interlock TO reader_"+d.Name+"; GRANT SELECT ON ALL TABLES IN SCHEMA interlock TO reader_"+d.Name)
		start(t, nil, "doctor", "--engine", strings.Replace(d.URL(), "postgres@", "reader_"+d.Name+"@", 1)).expect(t, 6, "✗ privileges", "INSERT ON")
	})
	t.Run("a server that is down", func(t *testing.T) {
		t.Parallel()
		for _, args := range [][]string{{"engine", "migrate"}, {"lock", "ls", "--engine"}, {"doctor", "--engine"}} {
			r := start(t, nil, append(args, "postgres://me:hunter2@127.0.0.1:1/shop")...)
			r.expect(t, 5, "connection refused")
			if strings.Contains(r.stdout.String()+r.stderr.String(), "hunter2") {
				t.Errorf("%v prints the password", args)
			}
		}
	})
}

func TestMySQL(t *testing.T) {
	needsServer(t, "MariaDB")
	s := mysqltest.StartServer(t)
	t.Run("every command", func(t *testing.T) {
		t.Parallel()
		url := s.Create(t).URL()
		start(t, nil, "engine", "migrate", url).expect(t, 0, "MySQL "+s.Addr(), "the schema was created or migrated")
		commands(t, url, "MySQL at "+s.Addr())
	})
	t.Run("migrate says what it did", func(t *testing.T) {
		t.Parallel()
		url := s.Create(t).URL()
		start(t, nil, "doctor", "--engine", url).expect(t, 5, "✗ schema", "interlock engine migrate")
		start(t, nil, "lock", "ls", "--engine", url).expect(t, 1, "run interlock engine migrate")
		start(t, []string{"INTERLOCK_ENGINE_URL=" + url}, "engine", "migrate").expect(t, 0, "created or migrated")
		start(t, nil, "engine", "migrate", "--engine", url).expect(t, 0, "up to date")
		start(t, nil, "engine", "migrate", "--lang=zh", url).expect(t, 0, "什么也没改")
	})
	t.Run("the doctor names the problems of the settings", func(t *testing.T) {
		t.Parallel()
		d := s.Create(t)
		start(t, nil, "engine", "migrate", d.URL()).expect(t, 0)
		// The server of the tests does not sync every commit.
		start(t, nil, "doctor", "--engine", d.URL()).expect(t, 0, "MySQL or MariaDB", "! innodb-flush", "SET GLOBAL innodb_flush_log_at_trx_commit = 1")
		start(t, nil, "doctor", "--lang=zh", "--engine", d.URL()).expect(t, 0, "断电会丢掉约一秒的授予")
		d.Exec(t, "CREATE USER "+d.Name+"@127.0.0.1 IDENTIFIED BY 'app'; GRANT SELECT ON "+d.Name+".* TO "+d.Name+"@127.0.0.1")
		start(t, nil, "doctor", "--engine", strings.Replace(d.URL(), "interlock:interlock@", d.Name+":app@", 1)).expect(t, 6, "✗ user-privileges", "INSERT ON")
	})
	t.Run("a server that is down", func(t *testing.T) {
		t.Parallel()
		for _, args := range [][]string{{"engine", "migrate"}, {"lock", "ls", "--engine"}, {"doctor", "--engine"}} {
			r := start(t, nil, append(args, "mysql://me:hunter2@127.0.0.1:1/shop")...)
			r.expect(t, 5, "connection refused")
			if strings.Contains(r.stdout.String()+r.stderr.String(), "hunter2") {
				t.Errorf("%v prints the password", args)
			}
		}
	})
}

func TestEtcd(t *testing.T) {
	needsServer(t, "etcd")
	t.Run("every command", func(t *testing.T) {
		t.Parallel()
		m := etcdtest.Start(t)
		start(t, nil, "engine", "migrate", m.URL()).expect(t, 0, "etcd needs no migration")
		commands(t, m.URL(), "etcd at "+m.Addr())
		start(t, nil, "doctor", "--engine", m.URL()).expect(t, 0, "one etcd server", "! one-member", "guarantees · etcd")
	})
	t.Run("the doctor finds that the majority is lost", func(t *testing.T) {
		t.Parallel()
		all := etcdtest.StartCluster(t)
		url := etcdtest.URL(all)
		start(t, nil, "doctor", "--engine", url).expect(t, 0, "an etcd cluster", "! quorum-host")
		all[2].Kill()
		start(t, nil, "doctor", "--engine", url).expect(t, 0, "! unreachable")
		all[1].Kill()
		await(t, "the majority is lost", func() bool {
			r := start(t, nil, "doctor", "--engine", url)
			r.wait(t)
			return strings.Contains(r.stdout.String(), "✗ quorum-away")
		})
	})
}

func TestZooKeeper(t *testing.T) {
	needsServer(t, "ZooKeeper")
	t.Run("every command", func(t *testing.T) {
		t.Parallel()
		s := zookeepertest.Start(t)
		start(t, nil, "engine", "migrate", s.URL()).expect(t, 0, "ZooKeeper needs no migration")
		commands(t, s.URL(), "ZooKeeper at "+s.Addr())
		start(t, nil, "doctor", "--engine", s.URL()).expect(t, 0, "one ZooKeeper server", "! one-member", "guarantees · ZooKeeper")
	})
}

// commands runs the commands that take an engine.
func commands(t *testing.T, url, name string) {
	t.Helper()
	env := []string{"PATH=" + os.Getenv("PATH")}
	held := start(t, env, "exec", "--engine", url, "report:42", "--", "sh", "-c", "echo fence $INTERLOCK_FENCE; exec sleep 60")
	await(t, "the lock is held", func() bool { return strings.Contains(held.stdout.String(), "fence ") })
	start(t, nil, "lock", "ls", "--engine", url).expect(t, 0, "report:42", "interlock exec")
	start(t, nil, "lock", "get", "report:42", "--engine", url).expect(t, 0, "fence")
	start(t, env, "exec", "--wait=0s", "--engine", url, "report:42", "--", "true").expect(t, 3, "report:42", "held")
	start(t, nil, "__complete", "lock", "get", "--engine", url, "rep").expect(t, 0, "report:42")
	start(t, nil, "lock", "release", "report:42", "--yes", "--reason=test", "--engine", url).expect(t, 0, "released report:42")
	held.expect(t, 4, "was lost")

	start(t, nil, "storm", "--engine", url, "--key=storm", "--n=20", "--hold=1ms").expect(t, 0, "violations   0", "max-holders  1")
	start(t, nil, "demo", "--no-page", "--n=10", "--engine", url).expect(t, 0, name, "verdict: placed once")

	o := startService(t)
	config := "engine: '%[2]s'\nlisten: 127.0.0.1:0\nto: %[1]s\nprincipal: none\nadmin: 127.0.0.1:0\n" + serviceRules
	const limit = "  - match: GET /reports/{id}\n    limit: reports:{path.id}\n    rate: 2/1h\n"
	if strings.HasPrefix(url, "etcd:") { // no quotas
		start(t, nil, "serve", "--config", file(t, config+limit, o.URL, url)).expect(t, 1, "needs another engine")
	} else {
		config += limit
	}
	g := startGateway(t, "serve", "--config", file(t, config, o.URL, url))
	if !strings.HasPrefix(url, "etcd:") {
		g.get(g.url+"/reports/7").want(t, 200)
		g.get(g.url+"/reports/7").want(t, 200)
		g.get(g.url+"/reports/7").want(t, 429, "quota_exceeded")
		g.get(g.url+"/reports/8").want(t, 200)
	}
	g.post("/orders", "an-order-number-0001").want(t, 201)
	g.post("/orders", "an-order-number-0001").want(t, 201)
	if n := o.ran("an-order-number-0001"); n != 1 {
		t.Errorf("the order ran %d times, want once", n)
	}
	start(t, nil, "key", "ls", "--engine", url).expect(t, 0, "order")
	p := startGateway(t, "proxy", "--to", o.URL, "--listen=127.0.0.1:0", "--admin=127.0.0.1:0", "--engine", url, "--once", "POST /orders=header.Idempotency-Key")
	p.post("/orders", "an-order-number-0002").want(t, 201)
	start(t, nil, "doctor", "--engine", url, "--json", "--lease", (20*time.Second).String()).expect(t, 0, `"product": "`)
}
