package cli

import (
	"context"
	"slices"

	"github.com/interlock-go/interlock/engine"
)

// away is an engine that could not be reached: the other side can still be told.
type away struct{ err error }

// Acquire implements [engine.Engine].
func (a away) Acquire(context.Context, engine.Request) (engine.Grant, error) {
	return engine.Grant{}, a.err
}

// Renew implements [engine.Engine].
func (a away) Renew(_ context.Context, rs []engine.Request) []error {
	return slices.Repeat([]error{a.err}, len(rs))
}

// Release implements [engine.Engine].
func (a away) Release(context.Context, engine.Request) (engine.ReleaseResult, error) {
	return engine.ReleaseResult{}, a.err
}

// Abandon implements [engine.Engine].
func (a away) Abandon(context.Context, engine.Request) (engine.ReleaseResult, error) {
	return engine.ReleaseResult{}, a.err
}

// Capabilities implements [engine.Engine].
func (a away) Capabilities() engine.Capabilities { return engine.Capabilities{Notes: a} }

// ReadNote implements [engine.Notes].
func (a away) ReadNote(context.Context, string) (engine.Note, error) { return engine.Note{}, a.err }

// WriteNote implements [engine.Notes].
func (a away) WriteNote(context.Context, string, string, uint64) error { return a.err }
