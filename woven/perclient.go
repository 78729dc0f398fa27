package woven

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/interlock-go/interlock"
)

// maxClients bounds the clients of a site. Most programs have one or two. The limit keeps
// a program that makes a client per request from filling the memory.
const maxClients = 16

// A perClient holds a value of a site for each client, until the client is closed.
// Lookups take no lock.
type perClient[V any] struct {
	mu   sync.Mutex // for changes
	list atomic.Pointer[[]clientEntry[V]]
}

type clientEntry[V any] struct {
	client *interlock.Client
	value  *V
}

func (p *perClient[V]) find(c *interlock.Client) *V {
	list := p.list.Load()
	if list == nil {
		return nil
	}
	for i := range *list {
		if o := &(*list)[i]; o.client == c {
			return o.value
		}
	}
	return nil
}

// make returns the value of c, and creates it if needed. Above maxClients the oldest value
// is evicted; its running work continues. Closing c ends the value.
func (p *perClient[V]) make(c *interlock.Client, value func() (*V, error), end func(*V, context.Context) error) (*V, error) {
	v, made, err := p.add(c, value)
	if made {
		p.endWith(c, v, end) // at once if c is closed
	}
	return v, err
}

func (p *perClient[V]) add(c *interlock.Client, value func() (*V, error)) (v *V, made bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v := p.find(c); v != nil {
		return v, false, nil
	}
	if v, err = value(); err != nil {
		return nil, false, err
	}
	list := []clientEntry[V]{{c, v}}
	if old := p.list.Load(); old != nil {
		list = append(list, (*old)[:min(len(*old), maxClients-1)]...)
	}
	p.list.Store(&list)
	return v, true, nil
}

// endWith ends a value when its client is closed. An evicted value is ended as well, unless
// the garbage collector has freed it: the hook does not keep it alive.
func (p *perClient[V]) endWith(c *interlock.Client, v *V, end func(*V, context.Context) error) {
	w := weak.Make(v)
	stop := c.OnClose(func(ctx context.Context) error {
		p.remove(c)
		if v := w.Value(); v != nil {
			return end(v, ctx)
		}
		return nil
	})
	runtime.AddCleanup(v, func(stop func()) { stop() }, stop)
}

// remove removes the value of a client.
func (p *perClient[V]) remove(c *interlock.Client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []clientEntry[V]
	if old := p.list.Load(); old != nil {
		for _, o := range *old {
			if o.client != c {
				list = append(list, o)
			}
		}
	}
	p.list.Store(&list)
}
