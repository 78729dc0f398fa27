package woven

import (
	"sync"
	"sync/atomic"

	"github.com/interlock-go/interlock"
)

// mostClients is for how many clients a site keeps something. A program has one or
// two; one that makes them for each request must not fill the memory with them.
const mostClients = 16

// A perClient is something that a site has for each client. Finding it takes no
// lock.
type perClient[V any] struct {
	mu   sync.Mutex // for who adds
	list atomic.Pointer[[]own[V]]
}

type own[V any] struct {
	client *interlock.Client
	value  V
}

func (p *perClient[V]) find(c *interlock.Client) (v V, ok bool) {
	list := p.list.Load()
	if list == nil {
		return v, false
	}
	for i := range *list {
		if o := &(*list)[i]; o.client == c {
			return o.value, true
		}
	}
	return v, false
}

// make adds what c lacks, in front, and drops what is oldest. Work that goes on
// with that ends as ever.
func (p *perClient[V]) make(c *interlock.Client, value func() (V, error)) (V, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v, ok := p.find(c); ok {
		return v, nil
	}
	v, err := value()
	if err != nil {
		return v, err
	}
	list := []own[V]{{c, v}}
	if old := p.list.Load(); old != nil {
		list = append(list, (*old)[:min(len(*old), mostClients-1)]...)
	}
	p.list.Store(&list)
	return v, nil
}
