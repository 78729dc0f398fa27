package zookeeper

import (
	"context"
	"maps"
	"slices"

	"github.com/interlock-go/interlock/internal/keystate"
)

// Sweep removes the documents in which everything has expired.
func (e *Engine) Sweep() { e.sweep(context.Background()) }

// Tidy looks at all scheduled documents now.
func (e *Engine) Tidy() {
	e.cleaner.mu.Lock()
	due := slices.Collect(maps.Keys(e.cleaner.due))
	clear(e.cleaner.due)
	e.cleaner.mu.Unlock()
	for _, d := range due {
		e.tidy(context.Background(), d)
	}
}

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

// AuthenticateLate calls lose, which cuts the connection, and reports whether there is a
// session if the reply to the user is noted only then.
func (e *Engine) AuthenticateLate(lose func()) (up bool) {
	e.session.mu.Lock()
	l := e.session.link
	e.session.mu.Unlock()
	lose()
	<-l.lost
	l.serve()
	up, _, _ = e.session.state()
	return up
}
