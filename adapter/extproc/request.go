package interlockextproc

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	modev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/interlock-go/interlock/interlockhttp"
)

// exchangeKey is the context key of the exchange.
type exchangeKey struct{}

// exchangeOf returns the exchange of a context, or nil.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// accept reads the first message. It returns no request if the path is not one that an
// upstream could serve: net/http refuses such a request as well.
func (x *exchange) accept() (*http.Request, error) {
	ctx := x.ctx
	m, err := x.next(ctx, x.deadline)
	if err != nil {
		return nil, err
	}
	headers := m.GetRequestHeaders()
	switch p := m.GetProtocolConfig(); {
	case m.GetObservabilityMode():
		return nil, status.Error(codes.FailedPrecondition, "interlockextproc: the filter has observability_mode: true, and guards nothing; remove it")
	case p.GetSendBodyWithoutWaitingForHeaderResponse():
		return nil, status.Error(codes.FailedPrecondition, "interlockextproc: the filter has send_body_without_waiting_for_header_response: true; remove it")
	case p != nil && p.GetRequestBodyMode() != modev3.ProcessingMode_BUFFERED || streams(p.GetResponseBodyMode()):
		// Without a body, a guarded request would run unguarded if the filter forbids mode_override.
		return nil, status.Errorf(codes.FailedPrecondition, "interlockextproc: the body modes of the filter are %v and %v; write request_body_mode: BUFFERED and response_body_mode: BUFFERED", p.GetRequestBodyMode(), p.GetResponseBodyMode())
	case headers == nil:
		return nil, unexpected(m, "the header of the request; write request_header_mode: SEND")
	}
	h, pseudo := headerOf(headers.GetHeaders())
	x.request, x.hasBody = h, !headers.GetEndOfStream()
	u, err := url.ParseRequestURI(pseudo[":path"])
	if err != nil || pseudo[":method"] == "" || u.Path != "*" && !strings.HasPrefix(pseudo[":path"], "/") {
		return nil, nil //nolint:nilnil // see above
	}
	r := (&http.Request{
		Method: pseudo[":method"], URL: u, RequestURI: pseudo[":path"], Host: pseudo[":authority"],
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, // Envoy does not say which version the client speaks
		Header: h.Clone(), Body: http.NoBody,
	}).WithContext(context.WithValue(ctx, exchangeKey{}, x))
	for _, name := range []string{"Host", "Transfer-Encoding"} {
		r.Header.Del(name) // as in net/http
	}
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		if _, _, err := net.SplitHostPort(p.Addr.String()); err == nil {
			r.RemoteAddr = p.Addr.String()
		}
	}
	if x.hasBody {
		r.Body, r.ContentLength = &body{exchange: x}, -1
		if n, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
			r.ContentLength = n
		}
	}
	return r, nil
}

// streams reports whether a mode sends bodies in parts.
func streams(m modev3.ProcessingMode_BodySendMode) bool {
	return m != modev3.ProcessingMode_NONE && m != modev3.ProcessingMode_BUFFERED
}

// headerOf returns the fields of a message, and its pseudo fields.
func headerOf(m *corev3.HeaderMap) (http.Header, map[string]string) {
	h, pseudo := make(http.Header, len(m.GetHeaders())), make(map[string]string, 4)
	for _, f := range m.GetHeaders() {
		value := string(f.GetRawValue())
		if value == "" {
			value = f.GetValue() // of an Envoy before raw_value
		}
		if strings.HasPrefix(f.GetKey(), ":") {
			pseudo[f.GetKey()] = value
			continue
		}
		h.Add(f.GetKey(), value)
	}
	return h, pseudo
}

// badRequest refuses a request whose path cannot be parsed.
func badRequest(w http.ResponseWriter) {
	p := interlockhttp.NewProblem(interlockhttp.RequestAmbiguous)
	p.ServeHTTP(w, &http.Request{Method: http.MethodGet, URL: new(url.URL), Header: make(http.Header)})
}
