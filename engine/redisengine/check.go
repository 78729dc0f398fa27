package redisengine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

var errServer = errors.New("this server cannot be used")

// check asks the server whether it is one that the engine can work with. A user
// who may not ask is believed.
func check(ctx context.Context, client rueidis.Client, m PublishMode) error {
	info, err := client.Do(ctx, client.B().Info().Section("server").Build()).ToString()
	if reply, ok := rueidis.IsRedisErr(err); ok && strings.HasPrefix(reply.Error(), "NOPERM") {
		return nil
	}
	if err != nil {
		return err
	}
	version, mode := field(info, "redis_version"), field(info, "redis_mode")
	switch {
	case mode == "cluster":
		return fmt.Errorf("%w: it is a node of a cluster, which is not supported yet", errServer)
	case mode == "sentinel":
		return fmt.Errorf("%w: it is a sentinel: give the address of the primary it watches", errServer)
	case older(version, 6, 2):
		return fmt.Errorf("%w: it is version %s, and 6.2 is the first that works", errServer, version)
	case m == Sharded && older(version, 7, 0):
		return fmt.Errorf("%w: it is version %s, and SPUBLISH is known from 7.0 on", errServer, version)
	}
	return nil
}

func field(info, name string) string {
	_, after, _ := strings.Cut(info, "\n"+name+":")
	value, _, _ := strings.Cut(after, "\r\n")
	return value
}

// older reports whether version is below major.minor. An unreadable one is not.
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
