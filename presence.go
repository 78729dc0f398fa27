package interlock

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/detach"
)

// presence makes a client known to operators for as long as it has locks, so
// that a holder can be named. It costs one call for every half of presenceLife.
type presence struct {
	core  *core
	name  string
	until atomic.Int64 // nanoseconds since core.clock.Base: not to be said again before then
	turns sync.Mutex   // so that what is said last is said last
}

const presenceLife = 2 * DefaultLease

func (p *presence) init(c *core, name string) { p.core, p.name = c, name }

// show says that the client is there, unless it has done so a short while ago.
// It waits for nothing, and nothing depends on it.
func (p *presence) show(now time.Time) {
	if p.core.caps.Inspector == nil || p.core.closed.Load() {
		return
	}
	at, until := int64(now.Sub(p.core.clock.Base)), p.until.Load()
	if at < until || !p.until.CompareAndSwap(until, at+int64(presenceLife/2)) {
		return
	}
	p.core.background.Go(func() { p.say(presenceLife) })
}

// leave lets a client that was closed be forgotten.
func (p *presence) leave() {
	if p.until.Swap(0) > 0 {
		p.core.background.Go(func() { p.say(time.Millisecond) })
	}
}

func (p *presence) say(life time.Duration) {
	p.turns.Lock()
	defer p.turns.Unlock()
	if p.core.closed.Load() {
		life = time.Millisecond // whoever has the last turn
	}
	ctx, cancel := context.WithTimeout(context.Background(), detach.Detached)
	defer cancel()
	_ = p.core.caps.Inspector.Register(ctx, p.member(), life)
}

func (p *presence) member() engine.Member {
	name := p.name
	if name == "" && len(os.Args) > 0 {
		name = filepath.Base(os.Args[0])
	}
	host, _ := os.Hostname() // a client without a host is one all the same
	return engine.Member{ID: p.core.id, Name: name, Host: host, PID: os.Getpid(), Since: p.core.clock.Base}
}
