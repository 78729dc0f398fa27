package mysqltest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// StartPrimary runs a server that replicas can copy.
func StartPrimary(t testing.TB) *Server {
	t.Helper()
	return StartServer(t, "--log-bin=log", "--server-id=1", "--binlog-format=ROW", "--rpl-semi-sync-master-timeout=600000")
}

// StartReplica runs a read-only copy of the server. From then on, the server acknowledges a
// commit only after the replica has received it.
func (s *Server) StartReplica(t testing.TB) *Server {
	t.Helper()
	r := StartServer(t, "--log-bin=log", "--server-id=2", "--binlog-format=ROW", "--read-only=1", "--rpl-semi-sync-slave-enabled=1")
	host, port, _ := strings.Cut(s.Addr(), ":")
	r.Exec(t, "mysql", fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='%s', MASTER_PORT=%s, MASTER_USER='%s', MASTER_PASSWORD='%s', MASTER_CONNECT_RETRY=1, MASTER_USE_GTID=slave_pos; START SLAVE",
		host, port, testUser, testPassword))
	s.Exec(t, "mysql", "SET GLOBAL rpl_semi_sync_master_enabled = 1")
	s.awaitStatus(t, "Rpl_semi_sync_master_clients", "1")
	s.awaitStatus(t, "Rpl_semi_sync_master_status", "ON")
	return r
}

// AwaitReplay waits until the replica has executed all that the primary has committed.
func (s *Server) AwaitReplay(t testing.TB, primary *Server) {
	t.Helper()
	at := primary.Exec(t, "mysql", "SELECT @@gtid_binlog_pos")
	if got := s.Exec(t, "mysql", fmt.Sprintf("SELECT MASTER_GTID_WAIT('%s', %d)", at, int(patience.Seconds()))); got != "0" {
		t.Fatalf("the replica has not reached %s within %v", at, patience)
	}
}

// Detach stops the replica from receiving, without losing what it has received. From then on
// the primary waits for no replica.
func (s *Server) Detach(t testing.TB, primary *Server) {
	t.Helper()
	primary.Exec(t, "mysql", "SET GLOBAL rpl_semi_sync_master_enabled = 0")
	s.Exec(t, "mysql", "STOP SLAVE IO_THREAD")
}

// Promote lets the replica execute what it has received, and makes it a primary.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	s.Exec(t, "mysql", "STOP SLAVE IO_THREAD")
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		status := s.replication(t)
		if status["Read_Master_Log_Pos"] == status["Exec_Master_Log_Pos"] && status["Master_Log_File"] == status["Relay_Master_Log_File"] {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the replica has not executed its relay log within %v: %v", patience, status)
		}
	}
	s.Exec(t, "mysql", "STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = 0")
}

// replication returns the state of a replica.
func (s *Server) replication(t testing.TB) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for line := range strings.Lines(s.Exec(t, "mysql", `SHOW SLAVE STATUS\G`)) {
		name, value, _ := strings.Cut(line, ":")
		all[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return all
}

// awaitStatus waits until a status variable has a value.
func (s *Server) awaitStatus(t testing.TB, variable, want string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		got := s.Exec(t, "mysql", "SHOW GLOBAL STATUS LIKE '"+variable+"'")
		if strings.HasSuffix(got, "\t"+want) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%q after %v, want %s", got, patience, want)
		}
	}
}
