package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/internal/testing/child"
)

// A server is a Redis on loopback. It stores nothing on disk, unless its arguments say so.
type server struct {
	addr    string
	dir     string
	process *child.Process

	// control is a separate connection for commands that are not measured.
	control *redis.Client

	idleLoops *idleLoops // busy loops at idle priority that keep processors awake; nil if not used
}

// start runs redis-server with further arguments. server.end kills it; on Linux it is also
// killed when this process dies.
func start(ctx context.Context, args ...string) (*server, error) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return nil, fmt.Errorf("redis-server is not installed: %w", err)
	}
	for range 10 {
		s, err := launch(ctx, args)
		if err == nil {
			return s, nil
		}
		if !strings.Contains(err.Error(), "Address already in use") {
			return nil, err
		}
	}
	return nil, errors.New("no free port in ten tries")
}

func launch(ctx context.Context, args []string) (*server, error) {
	free, err := child.FreePort()
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(free)
	s := &server{addr: net.JoinHostPort("127.0.0.1", port)}
	if s.dir, err = os.MkdirTemp("", "bench"); err != nil {
		return nil, err
	}
	cmd := exec.Command("redis-server", append([]string{
		"--port", port, "--bind", "127.0.0.1", "--dir", s.dir,
		"--save", "", "--appendonly", "no",
	}, args...)...)
	if s.process, err = child.Start(cmd); err != nil {
		_ = os.RemoveAll(s.dir)
		return nil, err
	}
	s.control = redis.NewClient(&redis.Options{Addr: s.addr, PoolSize: 1, Protocol: 2, DisableIdentity: true})
	if err := s.await(ctx); err != nil {
		s.end()
		return nil, fmt.Errorf("redis-server did not start: %w\n%s", err, s.process.Log())
	}
	return s, nil
}

// await returns when the started server answers. It checks the server's identity, because
// another program may have taken the port.
func (s *server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		dir, err := s.control.ConfigGet(ctx, "dir").Result()
		if err == nil && dir["dir"] == s.dir {
			return nil
		}
		select {
		case <-s.process.Exited():
			return errors.New("it exited")
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// end kills the server and waits until it has exited.
func (s *server) end() {
	s.idleLoops.end()
	_ = s.control.Close()
	s.process.Kill()
	_ = os.RemoveAll(s.dir)
}
