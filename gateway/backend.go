package gateway

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/interlockhttp"
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

// rootsWith returns the certificates that are believed, or nil for the system's.
func rootsWith(ca []byte) (*x509.CertPool, error) {
	if ca == nil {
		return nil, nil //nolint:nilnil // as tls.Config has it
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("gateway: ca: the file holds no certificate in PEM")
	}
	return roots, nil
}

// newTransport returns what requests are sent with. It asks no proxy of the
// environment, and does not touch what is sent: compression is for those at the ends.
func newTransport(u config.Upstream, roots *x509.CertPool) *http.Transport {
	connect := cmp.Or(u.Connect, 3*time.Second)
	dialer := &net.Dialer{Timeout: connect, KeepAlive: 15 * time.Second}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(!u.H2C)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(u.H2C)
	return &http.Transport{
		DialContext:           counted(dialer.DialContext),
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, InsecureSkipVerify: u.Insecure}, //nolint:gosec // if the file says so
		TLSHandshakeTimeout:   connect,
		ResponseHeaderTimeout: cmp.Or(u.Answer, time.Minute),
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       cmp.Or(u.Idle, 90*time.Second),
		MaxIdleConns:          0, // bounded for each host
		MaxIdleConnsPerHost:   256,
		DisableCompression:    true,
		Protocols:             protocols,
	}
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
	if len(v.chain) == 0 && r.Body != nil && r.Body != http.NoBody {
		v.body = &clientBody{ReadCloser: r.Body}
		r.Body = v.body
	}
	b.proxy.ServeHTTP(w, r)
}

// receive looks at an answer before it goes on. One that is to be kept is read whole
// first, so that the client is told if it breaks off, and nothing is kept then.
func (b *backend) receive(res *http.Response) error {
	v := visitOf(res.Request.Context())
	if len(v.chain) == 0 || res.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	v.answered = true
	res.Body = &upstreamBody{res.Body, v}
	if v.keeps() && !streams(res) {
		return gather(res, v.plan.settings.limits.Response)
	}
	return nil
}

// streams tells whether an answer is meant to be read as it comes.
func streams(res *http.Response) bool {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return media == "text/event-stream"
}

// gather reads an answer, up to a bound beyond which it is not kept anyway.
func gather(res *http.Response, most int) error {
	if res.ContentLength > int64(most) {
		return nil
	}
	body := res.Body
	text, err := io.ReadAll(io.LimitReader(body, int64(most)+1))
	if err != nil {
		return err
	}
	if len(text) > most {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(text), body), body}
		return nil
	}
	res.ContentLength = int64(len(text)) // no need to flush,
	res.Trailer = nil                    // as there were if a trailer followed, and then nothing could be kept
	res.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(text), body}
	return nil
}

// An upstreamBody is an answer as it comes. Should it break off, nobody knows what
// became of the request.
type upstreamBody struct {
	io.ReadCloser
	visit *visit
}

// Read implements io.Reader.
func (b *upstreamBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // readers return it as it is
		b.visit.fate, b.visit.code, b.visit.cause = interlockhttp.InDoubt, interlockhttp.UpstreamUnknown, err
	}
	return n, err
}

// buffers are for copying.
var buffers = pool{sync.Pool{New: func() any { return new([32 << 10]byte) }}}

type pool struct{ sync.Pool }

// Get implements [httputil.BufferPool].
func (p *pool) Get() []byte { return p.Pool.Get().(*[32 << 10]byte)[:] }

// Put implements [httputil.BufferPool].
func (p *pool) Put(b []byte) { p.Pool.Put((*[32 << 10]byte)(b)) }
