package zookeeper

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// Open connects to the ensemble that a URL names:
//
//	zk://user:password@host1:2181,host2:2181,host3:2181/interlock?timeout=2s
//
// The path is the root, see [Root]. With a user, the engine authenticates by the scheme
// digest, and only that user may read and change the nodes that it creates. zks:// uses
// TLS. The default port is 2181, or 2281 with TLS. Optional parameters, with their
// defaults:
//
//	timeout   how long a call may take (2s)
//	session   the timeout of the session, see [Session] (6s)
//	lazy      true or false, see [Lazy]
//	tls_ca    file of trusted certificates (the system's)
//	tls_name  the name in the servers' certificates (the host)
//
// Options override parameters. The engine has one connection, to any of the servers.
func Open(ctx context.Context, url string, opts ...Option) (*Engine, error) {
	a, err := parse(url)
	if err != nil {
		return nil, err
	}
	for _, opt := range opts {
		opt(&a.settings)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e, err := start(a)
	if err != nil || a.lazy {
		return e, err
	}
	if err := e.ready(ctx); err != nil {
		_ = e.Close()
		return nil, err
	}
	return e, nil
}

// start returns an engine that begins to connect.
func start(a *address) (e *Engine, err error) {
	e = newEngine(a)
	if e.session, err = dial(a); err != nil {
		return nil, err
	}
	e.tasks.Start(e.clean)
	return e, nil
}

// ready returns nil once the directories exist.
func (e *Engine) ready(ctx context.Context) error {
	// Two timeouts of a session are enough to try a server that does not answer, and
	// then another one.
	ctx, cancel := context.WithTimeout(ctx, max(e.timeout, 2*e.address.session.Abs()))
	defer cancel()
	err := e.session.wait(ctx)
	if refusal := e.session.refused(); err != nil && refusal != nil {
		return fmt.Errorf("zookeeper: cannot connect to %v, because %w", e.address.sorted(), refusedError(refusal))
	}
	if err != nil {
		return fmt.Errorf("zookeeper: cannot connect to %v, because %s: %w: %w", e.address.sorted(), e.session.why(), engine.ErrUnavailable, err)
	}
	done := make(chan error, 1)
	if !e.tasks.Start(func() { done <- e.prepare() }) {
		return errClosed
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("zookeeper: %v do not answer: %w: %w", e.address.sorted(), engine.ErrUnavailable, ctx.Err())
	}
}
