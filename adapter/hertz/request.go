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
		text := bytes.Clone(in.Body())
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	}
	r = adapter.WithContext(r.WithContext(ctx), c, c.FullPath())
	for _, p := range c.Params {
		r.SetPathValue(p.Key, string([]byte(p.Value)))
	}
	return r, body, nil
}

// header returns the fields that outer handlers have set in Hertz's response.
func header(c *app.RequestContext) http.Header {
	h := make(http.Header)
	copyHeader(h, &c.Response)
	h.Del("Content-Type") // Hertz's own default
	return h
}

// copyHeader replaces h by the fields of a response.
func copyHeader(h http.Header, from *protocol.Response) {
	clear(h)
	from.Header.VisitAll(func(name, value []byte) {
		switch string(name) {
		case consts.HeaderContentLength, consts.HeaderConnection:
			return // Hertz's own
		}
		h.Add(string(name), string(value))
	})
}

// setHeader replaces the fields of Hertz's response.
func setHeader(c *app.RequestContext, h http.Header) {
	response := &c.Response.Header
	for name := range header(c) {
		response.Del(name)
	}
	response.SetContentType("")
	response.SetNoDefaultContentType(true)
	for name, values := range h {
		if name == consts.HeaderContentLength {
			continue // Hertz counts the body
		}
		for _, value := range values {
			response.Add(name, value)
		}
	}
}
