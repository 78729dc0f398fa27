package gateway

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/gateway/config"
)

// A backend is an upstream: one or several equivalent servers. Each request is sent to one
// of them, once. The gateway never retries, because only the client knows whether its
// request may run twice.
type backend struct {
	config.Upstream
	targets   []*target
	count     atomic.Uint64 // requests, for the round robin
	transport http.RoundTripper
	foreign   bool // Options.Transport sends the requests, which do not go to the targets
	proxy     *httputil.ReverseProxy
}

// A target is one of an upstream's servers.
type target struct {
	url        *url.URL
	avoidUntil atomic.Int64 // when the target is used normally again, in Unix nanoseconds
}

// avoidFor is how long an unreachable target gets no requests, if there are other targets.
const avoidFor = 2 * time.Second

// newBackend returns the backend of an upstream, reused if nothing has changed.
func (b *builder) newBackend(u config.Upstream) (*backend, error) {
	if b.send != nil {
		return reuse(b.resources.backends, b.before.backends, "", func() (*backend, error) { return newForeignBackend(b.send, b.log), nil })
	}
	var ca []byte
	if u.CA != "" {
		var err error
		if ca, err = os.ReadFile(u.CA); err != nil {
			return nil, fmt.Errorf("gateway: ca: %w", err)
		}
	}
	// The key contains the hash of the CA file, so that a renewed CA makes a new backend.
	key := fmt.Sprintf("%+v %x", u, sha256.Sum256(ca))
	return reuse(b.resources.backends, b.before.backends, key, func() (*backend, error) { return newBackend(u, ca, b.log) })
}

// newBackend builds the proxy. Its callbacks find their request by roundTripOf, because
// one proxy serves all requests of the upstream.
func newBackend(u config.Upstream, ca []byte, log *slog.Logger) (*backend, error) {
	if len(u.To) == 0 {
		return nil, errNoUpstream
	}
	// The configuration has checked the URLs already, unless a program built it by hand.
	b := &backend{Upstream: u}
	for _, to := range u.To {
		if to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
			return nil, fmt.Errorf("gateway: to: %s is not an http:// or https:// URL", to.Redacted())
		}
		b.targets = append(b.targets, &target{url: to})
	}
	roots, err := rootsWith(ca)
	if err != nil {
		return nil, err
	}
	if u.Insecure {
		log.Warn("certificates of the upstream are not verified: an attacker on the network can read and change requests", "to", u.To[0].Redacted())
	}
	b.transport = newTransport(u, roots)
	b.proxy = b.newProxy(log)
	return b, nil
}

// newForeignBackend returns the backend of Options.Transport. Its only target is a name for
// metrics.
func newForeignBackend(transport http.RoundTripper, log *slog.Logger) *backend {
	b := &backend{targets: []*target{{url: &url.URL{Scheme: "http", Host: "envoy"}}}, transport: transport, foreign: true}
	b.proxy = b.newProxy(log)
	return b
}

// newProxy returns the proxy of a backend with a transport.
func (b *backend) newProxy(log *slog.Logger) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:        b.rewrite,
		Transport:      b.transport,
		ModifyResponse: b.receive,
		ErrorHandler:   b.fail,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		BufferPool:     &buffers,
	}
}

// next returns the target of the next request, by round robin. It skips targets that were
// unreachable in the last avoidFor, unless all were. There are no active health checks:
// failed requests show which targets are unreachable.
func (b *backend) next() *target {
	now := time.Now().UnixNano()
	first := b.count.Add(1)
	for i := range uint64(len(b.targets)) {
		if t := b.targets[(first+i)%uint64(len(b.targets))]; t.avoidUntil.Load() <= now {
			return t
		}
	}
	return b.targets[first%uint64(len(b.targets))]
}

// send sends a request to a target, and passes the response on. ReverseProxy calls
// rewrite, then receive or fail.
func (b *backend) send(w http.ResponseWriter, r *http.Request, x *exchange, innermost *ruleStep) result {
	t := &roundTrip{exchange: x, target: b.next(), began: time.Now(), result: result{innermost: innermost}}
	t.connected = b.foreign // Options.Transport reports no connection, so each request counts as sent
	r = t.attach(r)
	x.body.passOn()
	if r.Body != nil && r.Body != http.NoBody {
		t.body = &clientBody{ReadCloser: r.Body}
		r.Body = t.body
	}
	func() {
		defer catchAbort(&t.result.aborted)
		b.proxy.ServeHTTP(w, r)
	}()
	if t.broken {
		t.countBreak(r.Context())
	}
	return t.result
}

// buffers are for copying responses.
// The size is that of io.Copy's own buffer.
var buffers = pool{sync.Pool{New: func() any { return new([32 << 10]byte) }}}

// A pool holds pointers to arrays: a slice in an interface would be allocated for each
// Put.
type pool struct{ sync.Pool }

// Get implements [httputil.BufferPool].
func (p *pool) Get() []byte { return p.Pool.Get().(*[32 << 10]byte)[:] }

// Put implements [httputil.BufferPool].
func (p *pool) Put(b []byte) { p.Pool.Put((*[32 << 10]byte)(b)) }
