package cli

import (
	"context"
	"slices"

	"github.com/interlock-go/interlock/engine"
)

// unreachableEngine stands for a side of a standby that could not be opened. A switch
// can still write its record to the other side.
type unreachableEngine struct{ err error }

// Acquire implements [engine.Engine].
func (a unreachableEngine) Acquire(context.Context, engine.Request) (engine.Grant, error) {
	return engine.Grant{}, a.err
}

// Renew implements [engine.Engine].
func (a unreachableEngine) Renew(_ context.Context, rs []engine.Request) []error {
	return slices.Repeat([]error{a.err}, len(rs))
}

// Release implements [engine.Engine].
func (a unreachableEngine) Release(context.Context, engine.Request) (engine.ReleaseResult, error) {
	return engine.ReleaseResult{}, a.err
}

// Abandon implements [engine.Engine].
func (a unreachableEngine) Abandon(context.Context, engine.Request) (engine.ReleaseResult, error) {
	return engine.ReleaseResult{}, a.err
}

// Capabilities implements [engine.Engine].
func (a unreachableEngine) Capabilities() engine.Capabilities { return engine.Capabilities{Notes: a} }

// ReadNote implements [engine.Notes].
func (a unreachableEngine) ReadNote(context.Context, string) (engine.Note, error) {
	return engine.Note{}, a.err
}

// WriteNote implements [engine.Notes].
func (a unreachableEngine) WriteNote(context.Context, string, string, uint64) error { return a.err }
