package interlockfiber

import (
	"bytes"
	"io"
	"net/http"
	"net/url"

	"github.com/gofiber/fiber/v3"

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
		Method:     string(in.Header.Method()),
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
		text := bytes.Clone(in.Body())
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

// header returns the fields that outer handlers have set in fiber's response.
func header(c fiber.Ctx) http.Header {
	h := make(http.Header)
	for name, value := range c.Response().Header.All() {
		switch string(name) {
		case fiber.HeaderContentType, fiber.HeaderContentLength, fiber.HeaderConnection:
			continue // fasthttp's own
		}
		h.Add(string(name), string(value))
	}
	return h
}

// setHeader replaces the fields of fiber's response.
func setHeader(c fiber.Ctx, h http.Header) {
	response := &c.Response().Header
	for name := range header(c) {
		response.Del(name)
	}
	response.SetContentType("")
	for name, values := range h {
		if name == fiber.HeaderContentLength {
			continue // fasthttp counts the body
		}
		for _, value := range values {
			response.Add(name, value)
		}
	}
}
