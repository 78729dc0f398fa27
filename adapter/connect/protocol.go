package interlockconnect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/interlock-go/interlock/internal/adapter/rpc"
)

// protocol tells package rpc about Connect.
type protocol struct{}

// Method implements [rpc.Protocol].
func (protocol) Method(name string) rpc.MethodInfo {
	service, method, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	if rpc.SafeService(service) {
		return rpc.MethodInfo{Safe: true}
	}
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	s, ok := d.(protoreflect.ServiceDescriptor)
	if err != nil || !ok {
		return rpc.MethodInfo{Missing: described(protoreflect.FullName(service).Parent())} // or the service was registered without a descriptor
	}
	m := s.Methods().ByName(protoreflect.Name(method))
	if m == nil {
		return rpc.MethodInfo{Known: true, Missing: true}
	}
	options, _ := m.Options().(*descriptorpb.MethodOptions)
	return rpc.MethodInfo{
		Known:     true,
		Safe:      options.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS,
		Streaming: m.IsStreamingClient() || m.IsStreamingServer(),
	}
}

// described reports whether the services of a package have descriptors. If they do, a service
// without one is misspelled.
func described(name protoreflect.FullName) (found bool) {
	if name == "" {
		return false
	}
	protoregistry.GlobalFiles.RangeFilesByPackage(name, func(f protoreflect.FileDescriptor) bool {
		found = f.Services().Len() > 0
		return !found
	})
	return found
}

// Marshal implements [rpc.Protocol].
func (protocol) Marshal(message any) (name string, data []byte, err error) {
	m, ok := message.(proto.Message)
	if !ok {
		return "", nil, fmt.Errorf("a %T is not a Protocol Buffers message", message)
	}
	data, err = proto.MarshalOptions{Deterministic: true}.Marshal(m)
	return string(m.ProtoReflect().Descriptor().FullName()), data, err
}

// Unmarshal implements [rpc.Protocol].
func (protocol) Unmarshal(name string, data []byte) (any, error) {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(name))
	if err != nil {
		return nil, err
	}
	m := kind.New().Interface()
	return m, proto.Unmarshal(data, m)
}

// Code implements [rpc.Protocol].
func (protocol) Code(err error) rpc.Code { return rpc.Code(codeOf(err)) }

// codeOf returns the code that connect sends for a handler's error.
func codeOf(err error) connect.Code {
	_, coded := errors.AsType[*connect.Error](err)
	switch {
	case coded:
	case errors.Is(err, context.Canceled):
		return connect.CodeCanceled
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return connect.CodeDeadlineExceeded
	}
	return connect.CodeOf(err)
}

// Uncertain implements [rpc.Protocol].
func (protocol) Uncertain(err error) bool {
	return rpc.Uncertain(rpc.Code(connect.CodeOf(err)), err.Error(), failureOf(err).Reason)
}

// MarshalError implements [rpc.Protocol].
func (protocol) MarshalError(err error) ([]byte, error) {
	s := &status.Status{Code: int32(codeOf(err)), Message: err.Error()}
	if e, ok := errors.AsType[*connect.Error](err); ok {
		s.Message = e.Message()
		for _, d := range e.Details() {
			s.Details = append(s.Details, &anypb.Any{TypeUrl: "type.googleapis.com/" + d.Type(), Value: d.Bytes()})
		}
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(s)
}

// UnmarshalError implements [rpc.Protocol].
func (protocol) UnmarshalError(data []byte) (failed, err error) {
	s := new(status.Status)
	if err := proto.Unmarshal(data, s); err != nil {
		return nil, err
	}
	e := connect.NewError(connect.Code(s.GetCode()), errors.New(s.GetMessage()))
	for _, any := range s.GetDetails() {
		if err := addDetail(e, any); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func addDetail(e *connect.Error, m proto.Message) error {
	d, err := connect.NewErrorDetail(m)
	if err == nil {
		e.AddDetail(d)
	}
	return err
}

// metaOf returns the header fields of an error.
func metaOf(err error) (f fields) {
	if e, ok := errors.AsType[*connect.Error](err); ok {
		f.header = e.Meta()
	}
	return f
}

// withMeta adds the header of a stored reply to its error.
func withMeta(err error, header map[string][]string) error {
	if e, ok := errors.AsType[*connect.Error](err); ok {
		maps.Copy(e.Meta(), header)
	}
	return err
}

// convert returns an error of package rpc as one of connect.
func convert(err error) error {
	p, ok := err.(*rpc.Problem) //nolint:errorlint // a wrapped one was converted before
	if !ok {
		return err
	}
	e := connect.NewError(connect.Code(p.GRPC), p)
	_ = addDetail(e, &errdetails.ErrorInfo{Reason: p.Reason(), Domain: rpc.Domain, Metadata: p.Metadata()})
	if d := p.RetryDelay(); d > 0 {
		_ = addDetail(e, &errdetails.RetryInfo{RetryDelay: durationpb.New(d)})
	}
	return e
}
