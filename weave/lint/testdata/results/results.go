// Package results has functions whose results outlive the context of their lock.
package results

import (
	"bytes"
	"context"
	"database/sql"
	"io"
	"iter"
	"net/http"

	_ "github.com/interlock-go/interlock/on"
)

//interlock:lock name=a key=url // want `results.get returns \*net/http.Response, but the context of its body ends on return: use the result in the function, or make it with context.WithoutCancel`
func get(ctx context.Context, url string) (*http.Response, error) { return nil, nil }

//interlock:lock name=b key=id // want `returns io.ReadCloser`
func body(ctx context.Context, id string) (io.ReadCloser, error) { return nil, nil }

//interlock:lock name=c key=id // want `returns \*database/sql.Rows`
func rows(ctx context.Context, id string) (*sql.Rows, error) { return nil, nil }

//interlock:lock name=d key=id // want `returns iter.Seq2`
func all(ctx context.Context, id string) (iter.Seq2[int, error], error) { return nil, nil }

//interlock:lock name=e key=id // want `returns <-chan int`
func events(ctx context.Context, id string) (<-chan int, error) { return nil, nil }

//interlock:lock name=f key=r.PathValue("id") ctx=r.Context() // want `returns context.Context`
func derived(r *http.Request) (context.Context, error) { return nil, nil }

//interlock:once name=g key=id on-duplicate=refuse // want `returns io.Reader`
//interlock:lock name=h key=id
func stacked(ctx context.Context, id string) (io.Reader, error) { return nil, nil }

//interlock:lock name=i key=id kind=plain
func withoutContext(id string) (io.Reader, error) { return nil, nil }

//interlock:lock name=j key=id
func data(ctx context.Context, id string) (*bytes.Buffer, func(), chan<- int, error) {
	return nil, nil, nil, nil
}

func unlocked(ctx context.Context) (*http.Response, error) { return nil, nil }
