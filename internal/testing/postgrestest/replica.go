package postgrestest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/testing/child"
)

// StartReplica runs a streaming replica of the server until the test ends.
func (s *Server) StartReplica(t testing.TB) *Server {
	t.Helper()
	SkipIfShort(t)
	r, err := s.newReplica()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.end()
		if t.Failed() {
			t.Logf("log of the replica on %s:\n%s", r.Addr(), r.process.Log())
		}
	})
	return r
}

// newReplica copies the files of the server and starts another one that follows it.
func (s *Server) newReplica() (*Server, error) {
	backup, err := program("pg_basebackup")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "interlock-postgres-")
	if err != nil {
		return nil, err
	}
	r := &Server{dir: dir, args: s.args}
	if err := child.RunAs(account, dir, backup, "--pgdata", dir, "--dbname", s.URL("postgres"), "--write-recovery-conf", "--checkpoint", "fast", "--no-sync"); err != nil {
		r.end()
		return nil, err
	}
	if r.port, err = child.FreePort(); err == nil {
		err = r.run()
	}
	if err != nil {
		r.end()
		return nil, fmt.Errorf("the replica did not start: %w\n%s", err, r.process.Log())
	}
	return r, nil
}

// Promote makes a replica the primary.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	s.Exec(t, "postgres", "SELECT pg_promote()")
}

// AwaitReplay waits until the replica has everything that its primary has written so far.
func (s *Server) AwaitReplay(t testing.TB, primary *Server) {
	t.Helper()
	at := primary.Exec(t, "postgres", "SELECT pg_current_wal_lsn()")
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if s.Exec(t, "postgres", "SELECT pg_last_wal_replay_lsn() >= '"+at+"'") == "t" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the replica has not reached %s in %v", at, patience)
		}
	}
}
