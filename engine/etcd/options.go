package etcd

import "time"

const (
	defaultTimeout = 2 * time.Second
	defaultPrefix  = "interlock/"
)

// An Option configures an engine. Each option is also a parameter of the URL of [Open].
type Option func(*Engine)

// Prefix sets the prefix of all keys of the engine. Programs that share locks use the same
// prefix. Default: "interlock/".
func Prefix(p string) Option {
	return func(e *Engine) { e.keys.prefix = p }
}

// Timeout sets how long a call may take before its outcome is unknown. Default: 2s, also
// for a d that is not above zero.
func Timeout(d time.Duration) Option {
	return func(e *Engine) {
		if d <= 0 {
			d = defaultTimeout
		}
		e.timeout = d
	}
}

// Lazy lets [Open] succeed while the cluster is down. Until it answers, calls fail with
// [engine.ErrUnavailable]. Use it for the engines of a quorum or a standby, so that a
// process can start while one of them is down.
func Lazy() Option {
	return func(e *Engine) { e.lazy = true }
}
