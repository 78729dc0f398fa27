package interlock

import (
	"fmt"
	"sync"
)

// agreements are the terms on which packages on top of this one use a name.
type agreements struct {
	mu    sync.Mutex
	names map[string]*agreement
}

type agreement struct {
	terms string
	users int
}

// Agree registers the terms on which a name is used, until release is called. It fails
// if the name is in use on other terms; the error contains those. Package guard calls it,
// so that two guards of one name do not treat the same records differently.
func (c *Client) Agree(name, terms string) (release func(), err error) {
	a := &c.core.agreements
	name = c.opts.prefix + name
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.names[name]
	switch {
	case u == nil:
		if a.names == nil {
			a.names = make(map[string]*agreement)
		}
		u = &agreement{terms: terms}
		a.names[name] = u
	case u.terms != terms:
		return nil, fmt.Errorf("interlock: %q is already in use with %s, not %s; use another name, or the same for both", name, u.terms, terms)
	}
	u.users++
	return sync.OnceFunc(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if u.users--; u.users == 0 {
			delete(a.names, name)
		}
	}), nil
}
