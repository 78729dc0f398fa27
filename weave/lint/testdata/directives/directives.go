// Package directives has functions that do not get the context of their lock.
package directives

import (
	"context"
	"net/http"

	_ "github.com/interlock-go/interlock/on"
)

type job struct {
	ctx context.Context
	id  string
}

var app = context.Background()

//interlock:lock name=a key=id ctx=app // want `directives.global does not get the context of its hold`
func global(id string) error { return nil }

//interlock:lock name=b key=j.id ctx=j.ctx kind=fair // want `add a context parameter, or use kind=plain`
func shared(j *job) error { return nil }

//interlock:lock name=c key=id ctx=app // want `does not get the context`
//interlock:lock name=d key=id ctx=app // want `does not get the context`
func both(id string) error { return nil }

//interlock:lock name=z key=id ctx=app // want `cannot lock again: leave out ctx=, so that the lock uses the context parameter, or use kind=plain`
func beside(ctx context.Context, id string) error { return nil }

//interlock:lock name=e key=id ctx=app kind=plain
func plain(id string) error { return nil }

//interlock:lock name=f key=j.id ctx=j.ctx
func copied(j job) error { return nil }

//interlock:lock name=g key=r.PathValue("id") ctx=r.Context()
func handle(w http.ResponseWriter, r *http.Request) error { return nil }

//interlock:once name=h key=id ctx=app
func once(id string) error { return nil }

//interlock:lock name=i key=id
func parameter(ctx context.Context, id string) error { return nil }
