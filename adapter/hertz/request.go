package interlockhertz

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/network"
	"github.com/cloudwego/hertz/pkg/protocol"
	"github.com/cloudwego/hertz/pkg/protocol/consts"

	"github.com/interlock-go/interlock/internal/adapter"
)

// request returns a copy of Hertz's request for net/http middleware. A body that Hertz streams
// is read through the returned stream; otherwise that is nil.
func request(ctx context.Context, c *app.RequestContext) (*http.Request, *adapter.Stream, error) {
	in := &c.Request
	uri := string(in.RequestURI())
	parsed, err := url.ParseRequestURI(uri)
	if err != nil {
		return nil, nil, err
	}
	r := &http.Request{
		Method:     string(in.Method()),
		URL:        parsed,
		Proto:      in.Header.GetProtocol(),
		Header:     make(http.Header),
		Host:       string(in.Host()),
		RequestURI: uri,
		RemoteAddr: c.RemoteAddr().String(),
	}
	r.ProtoMajor, r.ProtoMinor, _ = http.ParseHTTPVersion(r.Proto)
	if conn, ok := c.GetConn().(network.ConnTLSer); ok {
		state := conn.ConnectionState()
		r.TLS = &state
	}
	in.Header.VisitAll(func(name, value []byte) { r.Header.Add(string(name), string(value)) })
	var body *adapter.Stream
	if in.IsBodyStream() {
		body = &adapter.Stream{Reader: in.BodyStream()}
		r.Body, r.ContentLength = io.NopCloser(body), int64(in.Header.ContentLength())
	} else {
		text, err := bodyOf(in)
		if err != nil {
			return nil, nil, err
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	}
	r = adapter.WithContext(r.WithContext(ctx), c, c.FullPath())
	for _, p := range c.Params {
		r.SetPathValue(p.Key, string([]byte(p.Value)))
	}
	return r, body, nil
}

// bodyOf returns a copy of the body of a request that Hertz does not stream.
func bodyOf(in *protocol.Request) ([]byte, error) {
	if in.OnlyMultipartForm() { // Hertz has parsed it, and kept no body
		form, err := in.MultipartForm()
		if err != nil {
			return nil, err
		}
		return adapter.FormBody(form, in.MultipartFormBoundary())
	}
	return bytes.Clone(in.Body()), nil
}

// header returns the fields that outer handlers have set in Hertz's response.
func header(c *app.RequestContext) http.Header {
	h := make(http.Header)
	copyHeader(h, &c.Response, false)
	return h
}

// copyHeader replaces h by the fields of a response. Hertz reports its default type for a
// response without a type, and sends it if there is a body.
func copyHeader(h http.Header, from *protocol.Response, hasBody bool) {
	clear(h)
	none := from.Header.NoDefaultContentType()
	from.Header.SetNoDefaultContentType(none || !hasBody)
	from.Header.VisitAll(func(name, value []byte) { h.Add(string(name), string(value)) })
	from.Header.SetNoDefaultContentType(none)
	h.Del(consts.HeaderContentLength) // Hertz's own
	h.Del(consts.HeaderConnection)    // Hertz's own
}

// setHeader replaces the fields of Hertz's response.
func setHeader(c *app.RequestContext, h http.Header) {
	response := &c.Response.Header
	for name := range header(c) {
		response.Del(name)
	}
	for name, values := range h {
		if name == consts.HeaderContentLength {
			continue // Hertz counts the body
		}
		for _, value := range values {
			response.Add(name, value)
		}
	}
}
