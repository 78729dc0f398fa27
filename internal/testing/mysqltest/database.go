package mysqltest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"
)

// A Database is a database that belongs to one test.
type Database struct {
	Server *Server
	Name   string

	view string        // that tells the time to an engine
	step time.Duration // how far its clock is moved
}

// Start returns an empty database of a server that all tests of the process share. The
// server ends with [Main].
func Start(t testing.TB) *Database {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.err = newServer(nil) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server.Create(t)
}

// Create returns an empty database of the server.
func (s *Server) Create(t testing.TB) *Database {
	t.Helper()
	d := &Database{Server: s, Name: fmt.Sprintf("test_%08x", rand.Uint32())}
	s.Exec(t, "mysql", "CREATE DATABASE "+d.Name)
	return d
}

// URL returns the URL of the database. Its user may do everything.
func (d *Database) URL() string { return d.Server.URL(d.Name) }

// Exec runs statements; see [Server.Exec].
func (d *Database) Exec(t testing.TB, sql string) string {
	t.Helper()
	return d.Server.Exec(t, d.Name, sql)
}

// SteppedClock lets [Database.Step] move the clock of an engine: a view with the time in ms.
func (d *Database) SteppedClock(view string) { d.view = view }

// Step moves the clock by a duration, forwards or back.
func (d *Database) Step(t testing.TB, by time.Duration) {
	t.Helper()
	d.step += by
	d.Exec(t, fmt.Sprintf("CREATE OR REPLACE VIEW %s AS SELECT "+
		"TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000 + %d AS ms", d.view, d.step.Milliseconds()))
}

// shared is the server of the process. The first test that needs it starts it.
var shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Main runs the tests of a package and ends the shared server. TestMain calls it:
//
//	func TestMain(m *testing.M) { os.Exit(mysqltest.Main(m)) }
func Main(m *testing.M) int {
	underMain = true
	code := m.Run()
	if shared.server != nil {
		shared.server.end()
	}
	if templateDir != "" {
		_ = os.RemoveAll(templateDir)
	}
	return code
}
