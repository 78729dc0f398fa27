package standby

import (
	"fmt"
	"log/slog"
	"os"
	"time"
)

// Defaults of the options.
const (
	DefaultLongestLease = time.Minute
	DefaultMaxRecordAge = 3 * time.Second
)

// config holds the values of the options.
type config struct {
	longest   time.Duration
	view      time.Duration
	automatic time.Duration
	degrade   time.Duration
	operator  bool
	name      string
	logger    *slog.Logger
}

// An Option configures [New].
type Option func(*config)

// LongestLease is the longest lease that is granted, for locks and claims. Processes
// may use different values. After a switch nothing is granted until the longest lease
// that any process has requested has expired; the record contains that lease. Default:
// 1m. It panics if d is not above zero.
func LongestLease(d time.Duration) Option {
	mustBePositive("LongestLease", d)
	return func(c *config) { c.longest = d }
}

// MaxRecordAge is how long a process trusts the record that it has read. It reads the record
// three times within MaxRecordAge. Default: 3s. It panics if d is less than 30 ms: an engine
// needs time to answer.
func MaxRecordAge(d time.Duration) Option {
	if d < 30*time.Millisecond {
		panic(fmt.Sprintf("standby: MaxRecordAge(%v): an engine needs longer to answer; use 30ms or more", d))
	}
	return func(c *config) { c.view = d }
}

// Automatic lets this process switch when it has not reached the active side for that
// long but reaches the other one. Default: off, because other processes may still
// reach the active side: as with [Force], a lock may then have two holders. It panics
// if after is not above zero.
func Automatic(after time.Duration) Option {
	mustBePositive("Automatic", after)
	return func(c *config) { c.automatic = after }
}

// Degrade lets this process use [Local] on its own when it has reached neither side
// for that long, until it reaches the active side again. Default: off. It panics if
// after is not above zero.
func Degrade(after time.Duration) Option {
	mustBePositive("Degrade", after)
	return func(c *config) { c.degrade = after }
}

// Operator is for programs that only inspect and switch. They are granted nothing, so a
// switch does not wait for their leases.
func Operator() Option { return func(c *config) { c.operator = true } }

// Name identifies this process as the author of its switches. Default: host/pid.
func Name(name string) Option { return func(c *config) { c.name = name } }

// Logger logs every switch once. Default: none.
func Logger(l *slog.Logger) Option { return func(c *config) { c.logger = l } }

func mustBePositive(option string, d time.Duration) {
	if d <= 0 {
		panic(fmt.Sprintf("standby: %s(%v): must be above zero; omit it for the default", option, d))
	}
}

func newConfig(opts []Option) config {
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	c := config{
		longest: DefaultLongestLease, view: DefaultMaxRecordAge,
		name: fmt.Sprintf("%s/%d", host, os.Getpid()), logger: slog.New(slog.DiscardHandler),
	}
	for _, opt := range opts {
		opt(&c)
	}
	if c.operator {
		c.longest = 0
	}
	return c
}

// trustFor is how long a read record is trusted: a little less than MaxRecordAge, because
// clocks differ.
func (c *config) trustFor() time.Duration { return c.view - c.view/100 - 2*time.Millisecond }
