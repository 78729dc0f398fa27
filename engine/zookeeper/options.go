package zookeeper

import (
	"fmt"
	"strings"
	"time"
)

const (
	defaultTimeout = 2 * time.Second
	defaultSession = 6 * time.Second
	defaultRoot    = "/interlock"
)

// An Option configures an engine. Each option is also a part of the URL of [Open].
type Option func(*settings)

// settings are what options set.
type settings struct {
	root    string
	timeout time.Duration
	session time.Duration
	lazy    bool
}

// Root sets the node below which all others are. Programs that share locks have the same
// root. Default: "/interlock". Root panics if path is not the absolute path of a node.
func Root(path string) Option {
	if err := checkRoot(path); err != nil {
		panic("zookeeper: Root: " + err.Error())
	}
	return func(s *settings) { s.root = path }
}

func checkRoot(path string) error {
	if len(path) < 2 || path[0] != '/' || path == "/zookeeper" || strings.HasPrefix(path, "/zookeeper/") {
		return fmt.Errorf("%q is not a path such as /interlock", path)
	}
	for part := range strings.SplitSeq(path[1:], "/") {
		if part == "" || part == "." || part == ".." || escape(part) != strings.ReplaceAll(part, ".", "%2E") {
			return fmt.Errorf("%q is not a path such as /interlock: its parts have letters, digits, and the signs .:_-@=+", path)
		}
	}
	return nil
}

// Timeout sets how long a call may take before its outcome is unknown. Default: 2s, also
// for a d that is not above zero.
func Timeout(d time.Duration) Option {
	return func(s *settings) {
		if d <= 0 {
			d = defaultTimeout
		}
		s.timeout = d
	}
}

// Session sets the timeout of the session. A server that does not answer for two thirds
// of it is given up for another. Locks do not end with the session. Servers limit it, by
// default to 2 to 20 ticks of 2s. Default: 6s, also for a d that is not above zero.
func Session(d time.Duration) Option {
	return func(s *settings) {
		if d <= 0 {
			d = defaultSession
		}
		s.session = d
	}
}

// Lazy lets [Open] succeed while no server can be reached. Calls then fail with
// engine.ErrUnavailable until one can.
func Lazy() Option { return func(s *settings) { s.lazy = true } }
