package interlockextproc

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A Server processes the requests of an Envoy proxy. Register it on a grpc.Server. To shut
// down, call GracefulStop there: it waits for the running requests. After that, close the
// middlewares and the client.
type Server struct {
	extprocv3.UnimplementedExternalProcessorServer
	handler http.Handler
	log     *slog.Logger
}

// An Option configures a Server.
type Option func(*Server)

// Logger sets the logger of panics and of streams that violate the protocol, such as those
// of a filter with a wrong processing mode. Default: slog.Default().
func Logger(l *slog.Logger) Option { return func(s *Server) { s.log = l } }

// New returns a server. It calls wrap once, with the handler that lets Envoy send a request
// to its upstream, and uses the result for every request. New panics if wrap or its result
// is nil.
func New(wrap func(envoy http.Handler) http.Handler, opts ...Option) *Server {
	if wrap == nil {
		panic("interlockextproc: New: wrap is nil")
	}
	s := &Server{handler: wrap(http.HandlerFunc(send)), log: slog.Default()}
	if s.handler == nil {
		panic("interlockextproc: New: wrap returned nil")
	}
	for _, o := range opts {
		o(s)
	}
	return s
}

// Process implements extprocv3.ExternalProcessorServer: it serves one request. It returns
// nil only after Envoy got its last answer, because Envoy lets a request pass if the stream
// ends without an error. With any other end, Envoy answers 500, unless its filter has
// failure_mode_allow.
func (s *Server) Process(stream extprocv3.ExternalProcessor_ProcessServer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = s.recovered(p)
		}
		if code := status.Code(err); code == codes.FailedPrecondition || code == codes.InvalidArgument {
			s.log.ErrorContext(stream.Context(), "the stream of Envoy cannot be processed", "err", status.Convert(err).Message())
		}
	}()
	x := &exchange{stream: stream, messages: make(chan *extprocv3.ProcessingRequest)}
	x.ctx, x.cancel = context.WithCancelCause(stream.Context())
	defer x.cancel(nil)
	go x.receive() // until the stream ends, which is at the latest when Process returns
	r, err := x.accept()
	if err != nil {
		return err
	}
	w := &responseWriter{exchange: x, header: make(http.Header)}
	if r == nil {
		badRequest(w)
	} else {
		s.handler.ServeHTTP(w, r)
	}
	return w.finish()
}

// recovered returns the error of a stream whose handler has panicked.
func (s *Server) recovered(p any) error {
	if p == http.ErrAbortHandler { //nolint:errorlint // as net/http compares it
		return status.Error(codes.Aborted, "interlockextproc: the handler aborted the response")
	}
	s.log.Error("panic in a handler", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	return status.Error(codes.Internal, "interlockextproc: the handler panicked")
}
