package interlock

import "sync"

// background counts what Close waits for. Unlike a sync.WaitGroup it may be
// waited for while more begins.
type background struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n is zero; nil unless somebody waits
}

func (b *background) begin() {
	b.mu.Lock()
	b.n++
	b.mu.Unlock()
}

func (b *background) end() {
	b.mu.Lock()
	b.n--
	if b.n == 0 && b.idle != nil {
		close(b.idle)
		b.idle = nil
	}
	b.mu.Unlock()
}

// wait returns a channel that is closed once nothing is on its way.
func (b *background) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n == 0 {
		none := make(chan struct{})
		close(none)
		return none
	}
	if b.idle == nil {
		b.idle = make(chan struct{})
	}
	return b.idle
}

// spawn runs fn in the background. It ends by itself, and Close waits for it.
func (c *core) spawn(fn func()) {
	c.background.begin()
	go func() {
		defer c.background.end()
		fn()
	}()
}
