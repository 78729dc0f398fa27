package postgrestest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/testing/child"
)

// StartPooler runs pgbouncer in transaction mode in front of the server until the test ends,
// and returns its host and port. It has two connections for each database, so transactions
// of one client meet many. Without pgbouncer the test is skipped.
func (s *Server) StartPooler(t testing.TB) (addr string) {
	t.Helper()
	SkipIfShort(t)
	pgbouncer, err := exec.LookPath("pgbouncer")
	if err != nil {
		t.Skip("pgbouncer is not installed: apt-get install pgbouncer")
	}
	dir, err := os.MkdirTemp("", "interlock-pgbouncer-") //nolint:usetesting // the account of pgbouncer must reach it
	if err != nil {
		t.Fatal(err)
	}
	port, err := child.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%d user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
max_client_conn = 500
`, s.port, port)
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(pgbouncer, file)
	cmd.Dir = dir
	process, err := child.StartAs(account, cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		process.Kill()
		_ = os.RemoveAll(dir)
		if t.Failed() {
			t.Logf("log of pgbouncer:\n%s", process.Log())
		}
	})
	pooler := &Server{port: port}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if _, err = pooler.Query("postgres", "SELECT 1"); err == nil {
			return pooler.Addr()
		}
		if time.Now().After(end) {
			t.Fatalf("pgbouncer does not answer: %v", err)
		}
	}
}
