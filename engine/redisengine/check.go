package redisengine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/interlock-go/interlock/engine"
)

var errServer = errors.New("this server cannot be used")

// checkServer refuses a server that the engine cannot use, and chooses how to publish. If
// the user may not run INFO, there is no check.
func (e *Engine) checkServer(ctx context.Context, client rueidis.Client, t engine.Topology) error {
	info, err := client.Do(ctx, client.B().Info().Section("server").Build()).ToString()
	if reply, ok := rueidis.IsRedisErr(err); ok && strings.HasPrefix(reply.Error(), "NOPERM") {
		e.setMode(t == engine.Cluster, "")
		return nil
	}
	if err != nil {
		return err
	}
	version, mode := field(info, "redis_version"), field(info, "redis_mode")
	if mode == "" {
		mode = field(info, "server_mode") // Valkey, seen in 9.1
	}
	switch {
	case mode == "cluster" && t != engine.Cluster:
		return fmt.Errorf("%w: it is a node of a cluster; use redis+cluster://", errServer)
	case mode != "cluster" && t == engine.Cluster:
		return fmt.Errorf("%w: it is not a node of a cluster; use redis://", errServer)
	case mode == "sentinel":
		return fmt.Errorf("%w: it is a sentinel; use redis+sentinel:// and the name of the primary", errServer)
	case older(version, 6, 2):
		return fmt.Errorf("%w: it is version %s; use 6.2 or later", errServer, version)
	case e.publish == Sharded && older(version, 7, 0):
		return fmt.Errorf("%w: it is version %s; SPUBLISH needs 7.0 or later", errServer, version)
	}
	e.setMode(t == engine.Cluster, version)
	return nil
}

// field returns a field of INFO, or "". A field is on a line of its own after the
// section's title, so a line break precedes it.
func field(info, name string) string {
	_, after, _ := strings.Cut(info, "\n"+name+":")
	value, _, _ := strings.Cut(after, "\r\n")
	return value
}

// older reports whether version is below major.minor. An invalid version is not.
func older(version string, major, minor int) bool {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(first)
	b, errB := strconv.Atoi(second)
	if errA != nil || errB != nil {
		return false
	}
	return a < major || a == major && b < minor
}
