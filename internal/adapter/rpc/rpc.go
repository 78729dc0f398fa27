// Package rpc contains the code that the adapters of RPC frameworks share. It knows no
// framework and no Protocol Buffers: an adapter passes a [Call] and its handler, and gets a
// [Reply] to send. Package guard decides which calls run, as for package interlockhttp.
package rpc

import (
	"context"
	"errors"

	"github.com/interlock-go/interlock/guard"
)

// A Call is a call of a method on a server.
type Call struct {
	Method    string                     // "/shop.Orders/Create"
	Path      string                     // the path of an HTTP request, if the message may lack its variables; "" otherwise
	Request   any                        // the message; nil for a stream
	Safe      bool                       // the method has no side effects
	Header    func(name string) []string // reads the request's header; names are in lower case
	SetHeader func(name, value string)   // sets a field of the reply's header
}

// A Reply is the outcome of a call. Its message or error is stored, with the header and the
// trailer that the handler has set.
type Reply struct {
	Message any
	Err     error // of a call that failed
	Header  map[string][]string
	Trailer map[string][]string

	omitted string // why the message is not stored
	encoded *encoded
}

// Work calls the handler.
type Work func(context.Context) *Reply

// A Protocol is what an adapter knows about its framework.
type Protocol interface {
	// Method describes a method.
	Method(name string) MethodInfo
	// Marshal returns the type and the deterministic encoding of a message.
	Marshal(message any) (name string, data []byte, err error)
	// Unmarshal returns a new message.
	Unmarshal(name string, data []byte) (any, error)
	// Code returns the gRPC code of a handler's error.
	Code(err error) Code
	// Uncertain passes a handler's error to the function [Uncertain].
	Uncertain(err error) bool
	// MarshalError returns a handler's error in a form that can be stored.
	MarshalError(err error) ([]byte, error)
	// UnmarshalError returns a stored error.
	UnmarshalError(data []byte) (failed, err error)
}

// A MethodInfo is what the descriptor of a method says.
type MethodInfo struct {
	Known     bool // the service has a descriptor
	Missing   bool // the package has descriptors, and none has the method
	Safe      bool // the method has no side effects
	Streaming bool
}

// safeServices lists the services for health checks and reflection.
var safeServices = map[string]bool{
	"grpc.health.v1.Health":                    true,
	"grpc.reflection.v1.ServerReflection":      true,
	"grpc.reflection.v1alpha.ServerReflection": true,
}

// SafeService reports whether a service is one for health checks or reflection.
func SafeService(name string) bool { return safeServices[name] }

// A Middleware guards, locks or limits calls.
type Middleware struct {
	settings *Settings
	protocol Protocol
	do       func(context.Context, *Call, Work) *Reply
	limits   bool

	policy  guard.Policy
	guard   *guard.Guard[*Reply] // nil for Lock and Limit
	latency latencyAverage
}

// Applies reports whether calls of the method concern the middleware. If they do not, the
// adapter calls the handler.
func (m *Middleware) Applies(ctx context.Context, c *Call) bool {
	switch {
	case m.settings.methods != nil:
		if !m.settings.methods[c.Method] {
			return false
		}
	case m.guard != nil && c.Safe:
		return false
	}
	return !m.within(ctx)
}

// Names reports whether an option names the method.
func (m *Middleware) Names(method string) bool { return m.settings.methods[method] }

// Do answers a call. An Err of the reply that is a *[Problem] is for the adapter to convert.
func (m *Middleware) Do(ctx context.Context, c *Call, work Work) *Reply { return m.do(ctx, c, work) }

// Keeps reports whether replies are kept.
func (m *Middleware) Keeps() bool { return m.guard != nil && m.policy.After == guard.Keep }

// Guard returns the guard of [Once] and [Submit]; nil for others.
func (m *Middleware) Guard() *guard.Guard[*Reply] { return m.guard }

// findID returns the ID that a source finds. ok is false if the call needs none.
func (m *Middleware) findID(ctx context.Context, c *Call, source Source) (id string, ok bool, err error) {
	id, err = source.find(ctx, m, c)
	if err == nil && len(id) < m.settings.minimum(source) {
		err = errShortKey
	}
	switch {
	case errors.Is(err, errNoKey) && m.settings.Optional:
		return "", false, nil
	case err != nil:
		return "", false, keyProblem(source, err)
	}
	return id, true, nil
}

func refused(p *Problem) *Reply { return &Reply{Err: p} }
