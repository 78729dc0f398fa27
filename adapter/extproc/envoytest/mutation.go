package envoytest

import (
	"net/http"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	modev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/protobuf/types/known/structpb"
)

// fields are header fields as Envoy sends them.
type fields []*corev3.HeaderValue

func field(name, value string) *corev3.HeaderValue {
	return &corev3.HeaderValue{Key: name, RawValue: []byte(value)}
}

// headerOf returns the fields of a header, after pairs of further ones.
func headerOf(h http.Header, pairs ...string) (all fields) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, field(pairs[i], pairs[i+1]))
	}
	for name, values := range h {
		for _, value := range values {
			all = append(all, field(strings.ToLower(name), value))
		}
	}
	return all
}

func (f fields) proto() *corev3.HeaderMap { return &corev3.HeaderMap{Headers: f} }

// toHeader returns the fields that are no pseudo fields.
func toHeader(all fields) http.Header {
	h := make(http.Header)
	for _, f := range all {
		if !strings.HasPrefix(f.GetKey(), ":") {
			h.Add(f.GetKey(), string(f.GetRawValue()))
		}
	}
	return h
}

// attributes returns the attributes of a response.
func (f *filter) attributes(details string) map[string]*structpb.Struct {
	if f.config.NoAttributes {
		return nil
	}
	return map[string]*structpb.Struct{"envoy.filters.http.ext_proc": {Fields: map[string]*structpb.Value{
		"response.code_details":          structpb.NewStringValue(details),
		"upstream.request_attempt_count": structpb.NewNumberValue(float64(f.config.Attempts)),
	}}}
}

// apply applies an answer. It returns false if the client has its response.
func (f *filter) apply(what string, m *extprocv3.ProcessingResponse, header http.Header) bool {
	var common *extprocv3.CommonResponse
	matches := false
	switch a := m.GetResponse().(type) {
	case *extprocv3.ProcessingResponse_ImmediateResponse:
		f.immediate(a.ImmediateResponse)
		return false
	case *extprocv3.ProcessingResponse_RequestHeaders:
		common, matches = a.RequestHeaders.GetResponse(), what == "request_headers"
	case *extprocv3.ProcessingResponse_RequestBody:
		common, matches = a.RequestBody.GetResponse(), what == "request_body"
	case *extprocv3.ProcessingResponse_RequestTrailers:
		matches = what == "request_trailers"
	case *extprocv3.ProcessingResponse_ResponseHeaders:
		common, matches = a.ResponseHeaders.GetResponse(), what == "response_headers"
	case *extprocv3.ProcessingResponse_ResponseBody:
		common, matches = a.ResponseBody.GetResponse(), what == "response_body"
	case *extprocv3.ProcessingResponse_ResponseTrailers:
		matches = what == "response_trailers"
	}
	if !matches {
		f.t.Errorf("the answer to %s is %v", what, m)
		f.localReply(http.StatusInternalServerError, nil, nil, "ext_proc_error_spurious_message")
		return false
	}
	if common.GetStatus() != extprocv3.CommonResponse_CONTINUE || common.GetBodyMutation() != nil {
		f.t.Errorf("the answer to %s changes the body: %v", what, m)
	}
	if change := common.GetHeaderMutation(); change != nil && !f.mutate(header, change) {
		f.localReply(http.StatusInternalServerError, nil, nil, "ext_proc_error_mutation")
		return false
	}
	if over := m.GetModeOverride(); over != nil && !f.config.ForbidModeOverride && strings.HasSuffix(what, "headers") {
		f.override(over)
	}
	return true
}

// override changes the mode. DEFAULT leaves the mode of a header as it is.
func (f *filter) override(over *modev3.ProcessingMode) {
	if over.GetResponseHeaderMode() != modev3.ProcessingMode_DEFAULT {
		f.mode.ResponseHeaderMode = over.GetResponseHeaderMode()
	}
	if over.GetRequestTrailerMode() != modev3.ProcessingMode_DEFAULT {
		f.mode.RequestTrailerMode = over.GetRequestTrailerMode()
	}
	if over.GetResponseTrailerMode() != modev3.ProcessingMode_DEFAULT {
		f.mode.ResponseTrailerMode = over.GetResponseTrailerMode()
	}
	f.mode.RequestBodyMode, f.mode.ResponseBodyMode = over.GetRequestBodyMode(), over.GetResponseBodyMode()
}

// immediate sends an immediate response.
func (f *filter) immediate(m *extprocv3.ImmediateResponse) {
	status := int(m.GetStatus().GetCode())
	if status < 200 {
		f.t.Errorf("an immediate response has the status %d", status)
		status = http.StatusInternalServerError
	}
	if m.GetDetails() == "" {
		f.t.Errorf("an immediate response has no details")
	}
	f.localReply(status, m.GetBody(), m.GetHeaders(), m.GetDetails())
}

// mutate changes a header. It returns false for a change that Envoy refuses.
func (f *filter) mutate(h http.Header, change *extprocv3.HeaderMutation) bool {
	for _, name := range change.GetRemoveHeaders() {
		if !f.permitted(name, "") {
			return false
		}
		h.Del(name)
	}
	for _, s := range change.GetSetHeaders() {
		name, value := s.GetHeader().GetKey(), string(s.GetHeader().GetRawValue())
		if s.GetHeader().GetValue() != "" {
			f.t.Errorf("the field %s has a value, want a raw_value", name)
		}
		if s.GetAppendAction() != 0 {
			f.t.Errorf("the field %s has both append and append_action", name)
		}
		switch {
		case !f.permitted(name, value):
			return false
		case s.GetAppend().GetValue(): //nolint:staticcheck // as Envoy reads it
			h.Add(name, value)
		default:
			h.Set(name, value)
		}
	}
	return true
}

// system are fields that a server may not change.
var system = []string{"host", "content-length", "transfer-encoding", "connection"}

// permitted checks a field.
func (f *filter) permitted(name, value string) bool {
	bad := func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c) }
	switch {
	case name == "" || strings.ContainsFunc(name, bad) || name != strings.ToLower(name):
		f.t.Errorf("the field name %q is invalid", name)
		return false
	case slices.ContainsFunc([]byte(value), func(c byte) bool { return c < ' ' && c != '\t' || c == 0x7f }):
		f.t.Errorf("the value %q of %s is invalid", value, name)
		return false
	case slices.Contains(system, name):
		f.t.Errorf("the server changes %s", name)
	}
	return true
}
