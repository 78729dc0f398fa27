package postgres_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/postgres"
)

// A failingPooler stands between an engine and its server. It reports errors as pgbouncer
// does: as fatal ones with SQLSTATE 08P01, whatever has happened.
type failingPooler struct {
	refuses atomic.Pointer[string] // the error of new connections
	crashes atomic.Bool            // the next answer of the server is lost
}

// startFailingPooler returns a pooler, and the URL of the database behind it. With the mode
// exec, each call of the engine is one request, so the next answer is that of the call.
func startFailingPooler(t testing.TB, url, server string) (*failingPooler, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	p := new(failingPooler)
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(client, server)
		}
	}()
	return p, strings.Replace(url, server, l.Addr().String(), 1) + "&default_query_exec_mode=exec"
}

func (p *failingPooler) serve(client net.Conn, server string) {
	defer client.Close()
	if why := p.refuses.Load(); why != nil {
		_, _ = client.Read(make([]byte, 8192)) // the request for a connection
		fatal(client, *why)
		return
	}
	behind, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer behind.Close()
	go func() { _, _ = io.Copy(behind, client) }() // ends when either is closed
	b := make([]byte, 64<<10)
	for {
		n, err := behind.Read(b)
		if err != nil {
			return
		}
		if p.crashes.Swap(false) {
			fatal(client, "server conn crashed?")
			return
		}
		if _, err := client.Write(b[:n]); err != nil {
			return
		}
	}
}

// fatal sends an error that ends the connection.
func fatal(client net.Conn, why string) {
	b, _ := (&pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "08P01", Message: why}).Encode(nil)
	_, _ = client.Write(b)
}

func TestErrorsOfAPooler(t *testing.T) {
	t.Parallel()
	ctx, d := context.Background(), sharedDatabase(t)
	direct := open(t, d.URL())
	t.Run("an answer that the pooler has lost is an unknown outcome", func(t *testing.T) {
		t.Parallel()
		p, url := startFailingPooler(t, d.URL(), d.Server.Addr())
		e, r := open(t, url), request(t, "ann:1", "1")
		p.crashes.Store(true)
		_, err := e.Acquire(ctx, r)
		wantUnknown(t, err)
		if l, err := direct.Inspect(ctx, r.Key); err != nil || len(l.Holders) != 1 {
			t.Errorf("the lock is %+v, error %v; want it held", l, err)
		}
	})
	for why, temporary := range map[string]bool{
		"query_wait_timeout": true, "server login has been failing, try again later (server_login_retry)": true, "unsupported startup parameter: geqo": false,
	} {
		t.Run("a pooler refuses a connection: "+why, func(t *testing.T) {
			t.Parallel()
			p, url := startFailingPooler(t, d.URL(), d.Server.Addr())
			p.refuses.Store(&why)
			_, err := postgres.Open(ctx, url)
			if err == nil || engine.Temporary(err) != temporary || errors.Is(err, engine.ErrUnknown) {
				t.Errorf("open: error %v, want a temporary one: %t", err, temporary)
			}
		})
	}
}
