// Package httpconformance tests adapters of HTTP frameworks: middleware of package
// interlockhttp must work in a framework as it does in net/http.
//
//	func TestConformance(t *testing.T) { httpconformance.Run(t, framework) }
//	func TestStorm(t *testing.T) { httpconformance.Storm(t, framework, open) }
//
// Every case serves real requests on a loopback port. A case that a framework cannot pass is
// named in [Framework.Lacks], with the reason.
package httpconformance

import (
	"context"
	"net/http"
	"testing"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// The header fields that tests and frameworks share.
const (
	FieldUser  = "X-User"  // the user of a request, for the framework's authentication
	FieldOrder = "X-Order" // a key that [Framework.Order] finds
	FieldOuter = "X-Outer" // set by a middleware outside of the guard to that field of the request
)

// A Framework is an HTTP framework with its adapter.
type Framework struct {
	Name string

	// Serve serves routes on a loopback port until the test ends, and returns the URL of
	// the server. Three things stand before each route: a handler that answers a panic
	// with 500; one that copies FieldOuter to the response; and authentication, which puts
	// FieldUser into the framework's context.
	Serve func(t testing.TB, routes []Route) (url string)

	User    interlockhttp.Option // reads the user from the framework's context
	Order   interlockhttp.Source // reads FieldOrder by the framework's context
	Problem interlockhttp.Option // answers a problem by the framework's context: its status, and its code as a text

	// OuterErrors says that outer handlers answer the errors of handlers, after the guard.
	OuterErrors bool

	Lacks map[string]string // cases that the framework cannot pass, with the reason
}

// A Route is a route with its middleware and handler.
type Route struct {
	Method string
	Path   string                            // /orders/:id; frameworks with another syntax translate it
	Wraps  []func(http.Handler) http.Handler // the outermost first
	Handle func(Exchange) error              // an error is the framework's to answer, with 500
	Tokens *guard.Tokens                     // issue tokens for the form "order", instead of Handle
}

// An Exchange is what handlers do in the framework's own way.
type Exchange interface {
	Context() context.Context // the context of the request, for databases and the like
	Param(name string) string
	Body() (string, error)
	File(name string) (size int64, err error) // the size of an uploaded file, of a form that the framework parses
	SetHeader(name, value string)
	Send(status int, body string) error
	Stream(chunks func(send func(string) error) error) error // a response that is sent piece by piece
	SendTrailer(body, name, value string) error              // a response with a trailer
	Upgrade(raw string) error                                // take the connection over, and write raw to it
}
