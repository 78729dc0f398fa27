package postgrestest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// A Database is a database that belongs to one test.
type Database struct {
	Server *Server
	Name   string

	schema string        // whose clock is stepped
	step   time.Duration // how far
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
	s.Exec(t, "postgres", "CREATE DATABASE "+d.Name)
	return d
}

// URL returns the URL of the database. Its user is the superuser.
func (d *Database) URL() string { return d.Server.URL(d.Name) }

// Exec runs statements; see [Server.Exec].
func (d *Database) Exec(t testing.TB, sql string) string {
	t.Helper()
	return d.Server.Exec(t, d.Name, sql)
}

// SteppedClock lets [Database.Step] move the clock of an engine: the function clock of a
// schema, which returns the time in µs.
func (d *Database) SteppedClock(schema string) { d.schema = schema }

// Step moves the clock by a duration, forwards or back.
func (d *Database) Step(t testing.TB, by time.Duration) {
	t.Helper()
	d.step += by
	d.Exec(t, fmt.Sprintf("CREATE OR REPLACE FUNCTION %s.clock() RETURNS bigint LANGUAGE sql AS "+
		"$$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + %d $$", d.schema, d.step.Microseconds()))
}

// shared is the server of the process. The first test that needs it starts it.
var shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Main runs the tests of a package and ends the shared server. TestMain calls it:
//
//	func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }
func Main(m *testing.M) int {
	code := m.Run()
	if shared.server != nil {
		shared.server.end()
	}
	return code
}
