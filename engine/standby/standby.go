package standby

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
)

var _ engine.Engine = (*Engine)(nil)

// An Engine grants locks on one of two engines. Use [New].
type Engine struct {
	config
	shared [2]*site // the primary and the standby
	local  *site
	caps   engine.Capabilities
	stats  counters

	view atomic.Pointer[view] // what follows from the rest, for who is in a hurry

	mu     sync.Mutex
	word   word          // the one that counts of all that were read
	alone  bool          // this process has degraded by itself, whatever the word says
	ours   bool          // something may have been granted locally
	seen   time.Time     // when the last switch was learned of; zero if there was none
	turned chan struct{} // closed with the next switch
	begun  bool          // it has looked for the first time
	closed bool

	turn chan struct{} // has one element, which who switches takes
	stop context.CancelFunc
	all  sync.WaitGroup // of those who read
}

// New makes one engine of two. Both must have notes ([engine.Notes]), and all
// processes must name them in the same order. It looks at both, and fails if it can
// read neither. What the two need to be closed is the caller's, after Close.
func New(ctx context.Context, primary, secondary engine.Engine, opts ...Option) (*Engine, error) {
	e := &Engine{
		config: configured(opts), word: first,
		shared: [2]*site{newSite(Primary, primary), newSite(Standby, secondary)},
		local:  newSite(Local, memory.New()),
		turned: make(chan struct{}), turn: make(chan struct{}, 1),
	}
	for _, s := range e.shared {
		if s.caps.Notes == nil {
			return nil, fmt.Errorf("standby: %T, the %v, has no notes: %w: use another engine", s.engine, s.side, errors.ErrUnsupported)
		}
	}
	e.caps = e.combined()
	e.turn <- struct{}{}
	e.lookAll(ctx)
	e.mu.Lock()
	e.begun = true
	e.mu.Unlock()
	if a, b := e.trouble(); a != nil && b != nil {
		return nil, fmt.Errorf("standby: neither side can be read: %w", errors.Join(a, b))
	}
	e.logger.Info("standby: begun", "side", e.State().Side, "epoch", e.State().Epoch)
	ctx, e.stop = context.WithCancel(context.Background())
	for _, s := range e.shared {
		e.all.Go(func() { e.keepLooking(ctx, s) }) // until Close, which waits
	}
	return e, nil
}

// Close stops reading, and waits for it. Nothing is granted after it. The two
// engines stay open.
func (e *Engine) Close() error {
	e.stop()
	e.all.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	e.publish()
	return nil
}

// trouble is why the two sides could not be read the last time, if so.
func (e *Engine) trouble() (primary, secondary error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.shared[0].trouble, e.shared[1].trouble
}

// Capabilities implements [engine.Engine]. What only one side can do is left out.
func (e *Engine) Capabilities() engine.Capabilities { return e.caps }
