package mysql

import (
	"fmt"
	"regexp"
	"time"
)

const (
	defaultTimeout = 2 * time.Second
	defaultPoll    = 50 * time.Millisecond
	defaultConns   = 8 // a call uses one connection for two round trips
	defaultPrefix  = "interlock_"
)

// An Option configures an engine. Each option is also a parameter of the URL of [Open].
type Option func(*settings)

// settings are what options set.
type settings struct {
	timeout  time.Duration
	poll     time.Duration
	conns    int
	prefix   string
	lazy     bool
	migrates bool
}

func defaults() settings {
	return settings{timeout: defaultTimeout, poll: defaultPoll, conns: defaultConns, prefix: defaultPrefix}
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

// Poll sets how often the engine looks for releases by other processes, while a caller
// waits. MySQL cannot notify its clients. Default: 50ms, also for a d that is not above zero.
func Poll(d time.Duration) Option {
	return func(s *settings) {
		if d <= 0 {
			d = defaultPoll
		}
		s.poll = d
	}
}

// Pool sets how many connections the engine may open. Default: 8, also for an n that is not
// above zero.
func Pool(n int) Option {
	return func(s *settings) {
		if n <= 0 {
			n = defaultConns
		}
		s.conns = n
	}
}

var prefixForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// Prefix sets how the names of the engine's tables begin. Programs that share locks have the
// same prefix. Default: "interlock_". It panics unless the prefix consists of at most 40
// lower-case letters, digits and underscores, and begins with a letter.
func Prefix(p string) Option {
	if err := checkPrefix(p); err != nil {
		panic("mysql: Prefix: " + err.Error())
	}
	return func(s *settings) { s.prefix = p }
}

func checkPrefix(p string) error {
	if !prefixForm.MatchString(p) {
		return fmt.Errorf("%q cannot begin the name of a table: use up to 40 lower-case letters, digits and underscores, beginning with a letter", p)
	}
	return nil
}

// Lazy lets [Open] succeed while the server is down: the engine connects on a later call,
// and until then its calls fail with [engine.ErrUnavailable]. Use it for the engines of a
// quorum or a standby, so that a process can start while one of them is down.
func Lazy() Option { return func(s *settings) { s.lazy = true } }

// AutoMigrate lets the first call create the tables, or migrate older ones; see [Migrate].
// The user must be allowed to.
func AutoMigrate() Option { return func(s *settings) { s.migrates = true } }
