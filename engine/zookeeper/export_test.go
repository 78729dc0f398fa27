package zookeeper

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

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

// LeastOffset is leastOffset.
func LeastOffset(shown, start, end time.Time) time.Duration { return leastOffset(shown, start, end) }

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

// RefuseLate calls lose, which cuts the connection. It returns the refusal of the user if
// that of the lost connection is noted only when the next one serves.
func (e *Engine) RefuseLate(lose func()) error {
	e.session.mu.Lock()
	l, before := e.session.link, e.session.connects
	e.session.mu.Unlock()
	lose()
	for {
		up, connects, changed := e.session.state()
		if up && connects > before {
			break
		}
		<-changed
	}
	l.refuse(zk.ErrAuthFailed)
	return e.session.refused()
}
