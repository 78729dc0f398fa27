package interlockfiber

import (
	"bytes"
	"io"
	"net/http"
	"net/url"

	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"

	"github.com/interlock-go/interlock/internal/adapter"
)

// request returns a copy of fiber's request for net/http middleware. A body that fiber streams
// is read through the returned stream; otherwise that is nil.
func request(c fiber.Ctx) (*http.Request, *adapter.Stream, error) {
	ctx := c.RequestCtx()
	in := &ctx.Request
	uri := string(in.RequestURI())
	parsed, err := url.ParseRequestURI(uri)
	if err != nil {
		return nil, nil, err
	}
	r := &http.Request{
		Method:     c.Method(), // an outer handler may have overridden that of the header
		URL:        parsed,
		Proto:      string(in.Header.Protocol()),
		Header:     make(http.Header),
		Host:       string(in.Host()),
		RequestURI: uri,
		RemoteAddr: ctx.RemoteAddr().String(),
		TLS:        ctx.TLSConnectionState(),
	}
	r.ProtoMajor, r.ProtoMinor, _ = http.ParseHTTPVersion(r.Proto)
	for name, value := range in.Header.All() {
		r.Header.Add(string(name), string(value))
	}
	var body *adapter.Stream
	if in.IsBodyStream() {
		body = &adapter.Stream{Reader: in.BodyStream()}
		r.Body, r.ContentLength = io.NopCloser(body), int64(in.Header.ContentLength())
	} else {
		text, err := bodyOf(c)
		if err != nil {
			return nil, nil, err
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	}
	route := c.Route()
	path := ""
	if fiber.RoutePatternMatch(c.Path(), route.Path) { // not a middleware of a prefix
		path = string([]byte(route.Path))
	}
	r = adapter.WithContext(r.WithContext(c.Context()), c, path)
	for _, name := range route.Params {
		r.SetPathValue(name, string([]byte(c.Params(name))))
	}
	return r, body, nil
}

// bodyOf returns a copy of the body of a request that fiber does not stream.
func bodyOf(c fiber.Ctx) ([]byte, error) {
	in := c.Request()
	if boundary := in.Header.MultipartFormBoundary(); len(boundary) > 0 && !c.App().Config().DisablePreParseMultipartForm {
		if form, err := in.MultipartForm(); err == nil { // fasthttp has parsed it, and kept no body
			return adapter.FormBody(form, string(boundary))
		}
	}
	return bytes.Clone(in.Body()), nil
}

// header returns the fields that outer handlers have set in fiber's response.
func header(c fiber.Ctx) http.Header {
	h := make(http.Header)
	copyHeader(h, c.Response(), false)
	h.Del(fiber.HeaderConnection) // fasthttp's own
	return h
}

// copyHeader replaces h by the fields of a response. fasthttp reports its default type for a
// response without a type, and sends it if there is a body.
func copyHeader(h http.Header, response *fasthttp.Response, hasBody bool) {
	clear(h)
	for name, value := range response.Header.All() {
		h.Add(string(name), string(value))
	}
	h.Del(fiber.HeaderContentLength) // fasthttp counts the body
	if !hasBody && h.Get(fiber.HeaderContentType) == fiber.MIMETextPlainCharsetUTF8 {
		h.Del(fiber.HeaderContentType)
	}
}

// setHeader replaces the fields of fiber's response.
func setHeader(c fiber.Ctx, h http.Header) {
	response := &c.Response().Header
	for name := range header(c) {
		response.Del(name)
	}
	for name, values := range h {
		if name == fiber.HeaderContentLength {
			continue // fasthttp counts the body
		}
		for _, value := range values {
			response.Add(name, value)
		}
	}
}
