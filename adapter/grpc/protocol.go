package interlockgrpc

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/interlock-go/interlock/internal/adapter/rpc"
)

// protocol tells package rpc about gRPC.
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
	if v1, old := message.(protoadapt.MessageV1); !ok && old {
		m, ok = protoadapt.MessageV2Of(v1), true
	}
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
func (protocol) Code(err error) rpc.Code { return rpc.Code(statusOf(err).Code()) }

// Uncertain implements [rpc.Protocol].
func (protocol) Uncertain(err error) bool {
	return rpc.Uncertain(rpc.Code(statusOf(err).Code()), statusOf(err).Message(), failureOf(err).Reason)
}

// MarshalError implements [rpc.Protocol].
func (protocol) MarshalError(err error) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(statusOf(err).Proto())
}

// UnmarshalError implements [rpc.Protocol].
func (protocol) UnmarshalError(data []byte) (failed, err error) {
	s := new(statuspb.Status)
	if err := proto.Unmarshal(data, s); err != nil {
		return nil, err
	}
	if s.GetCode() == int32(codes.OK) {
		return nil, errors.New("interlockgrpc: the stored status is OK")
	}
	return status.FromProto(s).Err(), nil
}

// statusOf returns the status that grpc sends for a handler's error.
func statusOf(err error) *status.Status {
	if s, ok := status.FromError(err); ok {
		return s
	}
	return status.FromContextError(err)
}

// convert returns an error of package rpc as a status.
func convert(err error) error {
	p, ok := err.(*rpc.Problem) //nolint:errorlint // a wrapped one was converted before
	if !ok {
		return err
	}
	s := status.New(codes.Code(p.GRPC), p.Text)
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: p.Reason(), Domain: rpc.Domain, Metadata: p.Metadata()}}
	if d := p.RetryDelay(); d > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(d)})
	}
	if full, err := s.WithDetails(details...); err == nil {
		s = full
	}
	return &statusError{p, s}
}

// A statusError is a problem that grpc sends as a status. An outer interceptor recognises the
// problem in it.
type statusError struct {
	*rpc.Problem
	status *status.Status
}

// GRPCStatus is for package status.
func (e *statusError) GRPCStatus() *status.Status { return e.status }

// Unwrap returns the problem.
func (e *statusError) Unwrap() error { return e.Problem }
