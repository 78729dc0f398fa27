package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	interlockextproc "github.com/interlock-go/interlock/adapter/extproc"
	"github.com/interlock-go/interlock/gateway"
	"github.com/interlock-go/interlock/gateway/config"
)

const (
	// maxMessage bounds a message, in bytes. Envoy's buffer limit bounds the body in it, and
	// is smaller by default. The gateway's own limits apply to the requests that it reads.
	maxMessage = 64 << 20
	// minPing is how often Envoy may send keepalive pings. The default of gRPC, 5 minutes,
	// would close the connections of an Envoy with connection_keepalive.
	minPing = 5 * time.Second
	// pingEvery and pingTimeout find an Envoy that has vanished with its machine. The default
	// of gRPC, 2 hours, would hold its locks and claims for as long.
	pingEvery   = 10 * time.Second
	pingTimeout = 10 * time.Second
)

// checkExtProc refuses principals that need the connection of the client, which ends at Envoy.
func checkExtProc(c *config.Config) error {
	const why = "principal: mtls is not possible with ext-proc: the connection is Envoy's, not its client's; use jwt, or header with a field that Envoy sets, such as X-Forwarded-Client-Cert"
	var errs []error
	for i := range c.Rules {
		if r := &c.Rules[i]; r.Principal.MTLS {
			errs = append(errs, fmt.Errorf("%s:%v: rule %q: %s", c.File, r.At, r.Do.Name, why))
		}
	}
	if c.Principal.MTLS && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("%s: %s", c.File, why))
	}
	return errors.Join(errs...)
}

// transport returns the transport by which Envoy sends requests; nil for a reverse proxy.
func (s *Server) transport() http.RoundTripper {
	if !s.o.ExtProc {
		return nil
	}
	return &interlockextproc.Transport{Pass: func(r *http.Request) bool { return !gateway.Guarded(r) }}
}

// A healthService reports whether Envoy should send requests here. It has no Watch: an open
// one would delay the shutdown.
type healthService struct {
	healthpb.UnimplementedHealthServer
	ready func() error
}

// Check implements healthpb.HealthServer.
func (h healthService) Check(_ context.Context, r *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	switch r.GetService() {
	case "", extprocv3.ExternalProcessor_ServiceDesc.ServiceName:
	default:
		return nil, status.Errorf(codes.NotFound, "there is no service %q", r.GetService())
	}
	if h.ready() != nil {
		return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_NOT_SERVING}, nil
	}
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, nil
}

// buildExtProc creates the gRPC server of the front.
func (s *Server) buildExtProc() (err error) {
	var handler http.Handler = s.gate
	if s.o.Wrap != nil {
		handler = s.o.Wrap(handler)
	}
	opts := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingEvery, Timeout: pingTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
	}
	if files := s.o.Config.TLS; files != nil {
		if s.certs, err = newCertificates(files, s.log); err != nil {
			return err
		}
		opts = append(opts, grpc.Creds(credentials.NewTLS(s.certs.config())))
	}
	rpc := grpc.NewServer(opts...)
	extprocv3.RegisterExternalProcessorServer(rpc, interlockextproc.New(func(http.Handler) http.Handler { return handler }, interlockextproc.Logger(s.log)))
	healthpb.RegisterHealthServer(rpc, healthService{ready: s.ready})
	s.front.rpc = rpc
	s.log.Info("these settings have no effect: Envoy has its own", "settings", "to, limits.header, timeouts.header, timeouts.idle")
	for i := range s.o.Config.Rules {
		if r := &s.o.Config.Rules[i]; r.Upstream != nil {
			s.log.Warn("the to: of a rule has no effect: Envoy's routes choose the upstream", "name", r.Do.Name)
		}
	}
	return nil
}

// shutdown accepts no more requests, and waits for the running ones.
func (l *listener) shutdown(ctx context.Context) error {
	if l.rpc == nil {
		return l.server.Shutdown(ctx)
	}
	stopped := make(chan struct{})
	go func() { // until the requests have ended, or close cuts them off
		l.rpc.GracefulStop()
		close(stopped)
	}()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// close cuts the running requests off.
func (l *listener) close() {
	if l.rpc != nil {
		l.rpc.Stop()
		return
	}
	_ = l.server.Close()
}
