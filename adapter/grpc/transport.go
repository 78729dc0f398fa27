package interlockgrpc

import (
	"context"
	"errors"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// A transport records the header and the trailer that a handler sets. It sends them when the
// handler has returned, or calls grpc.SendHeader. They are recorded even if the client has
// gone, when grpc would refuse them: a repeat of the call gets them.
type transport struct {
	method string
	send   func(metadata.MD) error

	mu              sync.Mutex
	header, trailer metadata.MD
	sent, returned  bool
}

func newTransport(ctx context.Context) *transport {
	method, _ := grpc.Method(ctx)
	return &transport{method: method, send: func(md metadata.MD) error { return grpc.SendHeader(ctx, md) }}
}

var (
	errHeaderSent = errors.New("interlockgrpc: the header was sent before, or the handler has returned")
	errReturned   = errors.New("interlockgrpc: the handler has returned")
)

// Method implements [grpc.ServerTransportStream].
func (t *transport) Method() string { return t.method }

// SetHeader implements [grpc.ServerTransportStream].
func (t *transport) SetHeader(md metadata.MD) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sent || t.returned {
		return errHeaderSent
	}
	t.header = metadata.Join(t.header, md)
	return nil
}

// SendHeader implements [grpc.ServerTransportStream].
func (t *transport) SendHeader(md metadata.MD) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sent || t.returned {
		return errHeaderSent
	}
	t.sent, t.header = true, metadata.Join(t.header, md)
	_ = t.send(t.header) // the client may have gone
	return nil
}

// SetTrailer implements [grpc.ServerTransportStream].
func (t *transport) SetTrailer(md metadata.MD) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.returned {
		return errReturned
	}
	t.trailer = metadata.Join(t.trailer, md)
	return nil
}

// end returns what the handler has set. Its goroutines can change nothing from now on.
func (t *transport) end() (header, trailer metadata.MD) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.returned = true
	return t.header, t.trailer
}
