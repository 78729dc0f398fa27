package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// printMachine prints the machine and the versions of the libraries.
func printMachine(ctx context.Context, w io.Writer, s *server) {
	fmt.Fprintf(w, "%s, %s/%s, %d processors (%s), %s, Redis %s on the same machine\n\n",
		time.Now().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), processor(), runtime.Version(), s.version(ctx))
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return
	}
	for _, path := range []string{
		"github.com/go-redsync/redsync/v4", "github.com/bsm/redislock",
		"github.com/redis/go-redis/v9", "github.com/redis/rueidis",
		"github.com/jackc/pgx/v5", "github.com/go-sql-driver/mysql", "go.etcd.io/etcd/client/v3", "github.com/go-zookeeper/zk",
	} {
		for _, m := range info.Deps {
			if m.Path == path {
				fmt.Fprintf(w, "- %s %s\n", m.Path, m.Version)
			}
		}
	}
}

func (s *server) version(ctx context.Context) string {
	info, err := s.control.Info(ctx, "server").Result()
	if err != nil {
		return err.Error()
	}
	return fieldAfter(info, "redis_version:")
}

func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	_, name, _ := strings.Cut(fieldAfter(string(text), "model name"), ":")
	return strings.TrimSpace(name)
}

// fieldAfter returns the rest of the first line that begins with prefix.
func fieldAfter(text, prefix string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			return strings.TrimSpace(rest)
		}
	}
	return "unknown"
}
