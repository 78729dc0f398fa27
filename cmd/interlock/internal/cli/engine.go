package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/cmd/interlock/internal/backend"
	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
)

// closeTimeout limits how long releasing the held locks may take. The user may have
// pressed Ctrl-C and is waiting for the prompt.
const closeTimeout = 3 * time.Second

// A remote is an engine that other processes share, and a client of it.
type remote struct {
	engine backend.Engine
	client *interlock.Client
	name   string // its address without the password
	from   string // the source of its address
}

// engineFlag adds --engine.
func (p *program) engineFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "engine", "", p.say(i18n.FlagEngine))
}

// connect opens the engine of a command. The embedded engine is no substitute: other
// processes cannot see its locks.
func (p *program) connect(c *cobra.Command, url string) (*remote, error) {
	from := "--engine"
	if !c.Flag("engine").Changed {
		url, from = p.getenv(engineVariable), engineVariable
	}
	if url == "" {
		return nil, p.misuse(c, p.say(i18n.EngineMissing, engineVariable), "")
	}
	e, err := p.open(c, url, from)
	if cause, ok := errors.AsType[*unreachableError](err); ok {
		return nil, &engineRequiredError{cause}
	}
	if err != nil {
		return nil, err
	}
	// The name appears as the holder in lock ls and in refusals.
	client := interlock.New(e, interlock.Name("interlock "+c.Name()))
	return &remote{engine: e, client: client, name: host(url), from: from}, nil
}

// close releases the held locks, even after ctx has ended.
func (r *remote) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	// The client first: it releases its locks through the engine.
	_ = r.client.Close(ctx) // locks that were not released expire
	_ = r.engine.Close()
}

// classify turns an error into an engineRequiredError if the engine became unreachable.
func (r *remote) classify(ctx context.Context, err error) error {
	// After Ctrl-C every call fails; that says nothing about the engine.
	if err != nil && ctx.Err() == nil && unreachable(err) {
		return &engineRequiredError{&unreachableError{r.from, err}}
	}
	return err
}

// An engineRequiredError reports that a command needs an engine which is unreachable. The
// demo, by contrast, works without one.
type engineRequiredError struct{ *unreachableError }

// Unwrap returns the unreachableError.
func (e *engineRequiredError) Unwrap() error { return e.unreachableError }
