package guard

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/interlock-go/interlock/engine"
)

// names are the guards of this process, by engine and key prefix. Two guards of one name
// must treat the same records alike.
var names = nameTable{users: make(map[nameKey]*nameUse)}

type nameTable struct {
	mu    sync.Mutex
	users map[nameKey]*nameUse
}

type nameKey struct {
	engine engine.Engine
	prefix string // with the name of the policy
}

type nameUse struct {
	onUnknown OnUnknown
	guards    int
}

// use registers a guard, until release is called. It fails if a guard of that name has
// another OnUnknown: the weaker one would run what the other one holds.
func (t *nameTable) use(e engine.Engine, prefix string, p *Policy) (release func(), err error) {
	if !reflect.TypeOf(e).Comparable() {
		return func() {}, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	key := nameKey{e, prefix}
	u := t.users[key]
	switch {
	case u == nil:
		u = &nameUse{onUnknown: p.OnUnknown}
		t.users[key] = u
	case u.onUnknown != p.OnUnknown:
		return nil, fmt.Errorf("%w: a guard %q with OnUnknown %q exists already, and this one has %q; use another name, or the same OnUnknown",
			ErrPolicy, p.Name, u.onUnknown, p.OnUnknown)
	}
	u.guards++
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if u.guards--; u.guards == 0 {
			delete(t.users, key)
		}
	}), nil
}
