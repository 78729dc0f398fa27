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

// An Engine grants locks on the active one of two engines. Use [New].
type Engine struct {
	config
	shared [2]*sideState // the primary and the standby
	local  *sideState
	caps   engine.Capabilities
	stats  counters

	view atomic.Pointer[view] // derived from the fields below, for reads without the mutex

	mu         sync.Mutex
	record     switchRecord  // the latest of all that were read
	alone      bool          // this process has degraded on its own, whatever the record says
	usedLocal  bool          // a lock may have been granted locally
	switchedAt time.Time     // when the last switch was noticed; zero if there was none
	switched   chan struct{} // closed with the next switch
	started    bool          // the first read is done
	closed     bool

	requested atomic.Int64  // the longest lease that this process has requested, in nanoseconds
	switching chan struct{} // holds a token that Switch takes
	raising   chan struct{} // holds a token that raise takes
	stop      context.CancelFunc
	readers   sync.WaitGroup // goroutines that poll
}

// New combines two engines. Both must support notes ([engine.Notes]), and all
// processes must pass them in the same order. New reads both, and fails if it can
// read neither. The caller closes the two engines after Close.
func New(ctx context.Context, primary, secondary engine.Engine, opts ...Option) (*Engine, error) {
	e := &Engine{
		config: newConfig(opts), record: initialRecord,
		shared:   [2]*sideState{newSideState(Primary, primary), newSideState(Standby, secondary)},
		local:    newSideState(Local, memory.New()),
		switched: make(chan struct{}), switching: make(chan struct{}, 1), raising: make(chan struct{}, 1),
	}
	for _, s := range e.shared {
		if s.caps.Notes == nil {
			return nil, fmt.Errorf("standby: %T, the %v, does not support notes: %w; use another engine", s.engine, s.side, errors.ErrUnsupported)
		}
	}
	e.caps = e.combinedCapabilities()
	e.switching <- struct{}{}
	e.raising <- struct{}{}
	e.syncAll(ctx)
	e.mu.Lock()
	e.started = true
	e.mu.Unlock()
	if a, b := e.readErrors(); a != nil && b != nil {
		return nil, fmt.Errorf("standby: neither side can be read: %w", errors.Join(a, b))
	}
	e.logger.Info("standby: started", "side", e.State().Side, "epoch", e.State().Epoch)
	ctx, e.stop = context.WithCancel(context.Background())
	for _, s := range e.shared {
		e.readers.Go(func() { e.poll(ctx, s) }) // ends with Close, which waits
	}
	return e, nil
}

// Close stops reading the record. After Close nothing is granted. Close does not close
// the two engines.
func (e *Engine) Close() error {
	e.stop()
	e.readers.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	e.publish()
	return nil
}

// readErrors returns the errors of the last reads.
func (e *Engine) readErrors() (primary, secondary error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.shared[0].err, e.shared[1].err
}

// Capabilities implements [engine.Engine]. It returns what both sides support.
func (e *Engine) Capabilities() engine.Capabilities { return e.caps }
