package zookeeper

import (
	"context"

	"github.com/interlock-go/interlock/internal/keystate"
)

// Sweep removes the documents in which everything has expired.
func (e *Engine) Sweep() { e.sweep(context.Background()) }

// Parse parses a URL and returns its servers, root and user.
func Parse(url string) (hosts []string, root, user string, _ error) {
	a, err := parse(url)
	if err != nil {
		return nil, "", "", err
	}
	return a.hosts, a.root, a.user, nil
}

// Path returns the path of a lock.
func (e *Engine) Path(key string) string { return e.path(keystate.Locks, key) }
