package standby

import (
	"fmt"
	"log/slog"
	"os"
	"time"
)

// What is so unless an option says otherwise.
const (
	DefaultLongestLease = time.Minute
	DefaultView         = 3 * time.Second
)

// config is what options set.
type config struct {
	longest   time.Duration
	view      time.Duration
	automatic time.Duration
	degrade   time.Duration
	operator  bool
	name      string
	logger    *slog.Logger
}

// An Option changes what [New] makes.
type Option func(*config)

// LongestLease is the longest lease that is granted, of locks and of claims; who
// asks for a longer one is refused. After a switch nobody is granted anything for
// that long. The default is a minute. Processes may differ: the longest of all
// counts, and is known to all. It panics if d is not above zero.
func LongestLease(d time.Duration) Option {
	positive("LongestLease", d)
	return func(c *config) { c.longest = d }
}

// View is for how long what was read about the side that counts is relied on. It is
// read anew every third of that. The default is 3 s. It panics if d is less than 30
// ms: an engine must have the time to answer.
func View(d time.Duration) Option {
	if d < 30*time.Millisecond {
		panic(fmt.Sprintf("standby: View(%v) is over before an engine has answered: use 30ms or more", d))
	}
	return func(c *config) { c.view = d }
}

// Automatic lets this process switch by itself if it has not reached the side that
// counts for so long, but reaches the other one. It is off by default, since a
// process cannot know whether others still reach what it does not: as after a
// switch with [Force], two may have one lock. It panics if after is not above zero.
func Automatic(after time.Duration) Option {
	positive("Automatic", after)
	return func(c *config) { c.automatic = after }
}

// Degrade lets this process go on with locks of its own if it has reached neither
// side for so long: [Local], for itself alone, until the side that counts can be
// reached again. It is off by default. It panics if after is not above zero.
func Degrade(after time.Duration) Option {
	positive("Degrade", after)
	return func(c *config) { c.degrade = after }
}

// Operator is for programs that look and switch, and do nothing else: they grant
// nothing, and the others do not wait for leases of theirs.
func Operator() Option { return func(c *config) { c.operator = true } }

// Name is what the note says about who has switched. The default is the name of the
// host and the number of the process.
func Name(name string) Option { return func(c *config) { c.name = name } }

// Logger is told of every switch, once. There is none by default.
func Logger(l *slog.Logger) Option { return func(c *config) { c.logger = l } }

func positive(option string, d time.Duration) {
	if d <= 0 {
		panic(fmt.Sprintf("standby: %s(%v) is no time: leave it out for the default", option, d))
	}
}

func configured(opts []Option) config {
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	c := config{
		longest: DefaultLongestLease, view: DefaultView,
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

// trusted is for how long what was read is relied on: less than others wait for it,
// since clocks run apart.
func (c *config) trusted() time.Duration { return c.view - c.view/100 - 2*time.Millisecond }
