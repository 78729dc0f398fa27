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

// A backend is the service behind: one or several places that do the same. A request
// is sent to one of them, once. Nothing is tried again: who knows that it may be has
// the key, and is the client.
type backend struct {
	config.Upstream
	targets   []*target
	turn      atomic.Uint64
	transport *http.Transport
	proxy     *httputil.ReverseProxy
}

// A target is one of the places.
type target struct {
	url    *url.URL
	spared atomic.Int64 // until when it is not asked, since it was not there; in Unix ns
}

// sparedFor is how long a place is not asked that was not there, if there are others.
const sparedFor = 2 * time.Second

// backendOf returns the backend of an upstream.
func (b *builder) backendOf(u config.Upstream) (*backend, error) {
	var ca []byte
	if u.CA != "" {
		var err error
		if ca, err = os.ReadFile(u.CA); err != nil {
			return nil, fmt.Errorf("gateway: ca: %w", err)
		}
	}
	sign := fmt.Sprintf("%+v %x", u, sha256.Sum256(ca))
	return take(b.parts.backends, b.before.backends, sign, func() (*backend, error) { return newBackend(u, ca, b.log) })
}

func newBackend(u config.Upstream, ca []byte, log *slog.Logger) (*backend, error) {
	if len(u.To) == 0 {
		return nil, errNowhere
	}
	b := &backend{Upstream: u}
	for _, to := range u.To {
		if to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
			return nil, fmt.Errorf("gateway: to: %s is no http:// or https:// URL", to.Redacted())
		}
		b.targets = append(b.targets, &target{url: to})
	}
	roots, err := rootsWith(ca)
	if err != nil {
		return nil, err
	}
	if u.Insecure {
		log.Warn("the certificates of the service behind are not verified: anybody on the way can read and change what is sent", "to", u.To[0].Redacted())
	}
	b.transport = newTransport(u, roots)
	b.proxy = &httputil.ReverseProxy{
		Rewrite:        b.rewrite,
		Transport:      b,
		ModifyResponse: b.receive,
		ErrorHandler:   b.fail,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		BufferPool:     &buffers,
	}
	return b, nil
}

// next returns whose turn it is. A place that was not there is left out for a while,
// if another one may be.
func (b *backend) next() *target {
	now := time.Now().UnixNano()
	first := b.turn.Add(1)
	for i := range uint64(len(b.targets)) {
		if t := b.targets[(first+i)%uint64(len(b.targets))]; t.spared.Load() <= now {
			return t
		}
	}
	return b.targets[first%uint64(len(b.targets))]
}

// ServeHTTP sends a request on.
func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := visitOf(r.Context())
	v.wire = wire{target: b.next()}
	if r.Body != nil && r.Body != http.NoBody {
		v.body = &clientBody{ReadCloser: r.Body}
		r.Body = v.body
	}
	b.proxy.ServeHTTP(w, r)
}

// buffers are for copying.
var buffers = pool{sync.Pool{New: func() any { return new([32 << 10]byte) }}}

type pool struct{ sync.Pool }

// Get implements [httputil.BufferPool].
func (p *pool) Get() []byte { return p.Pool.Get().(*[32 << 10]byte)[:] }

// Put implements [httputil.BufferPool].
func (p *pool) Put(b []byte) { p.Pool.Put((*[32 << 10]byte)(b)) }
