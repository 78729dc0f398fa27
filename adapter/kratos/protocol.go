package interlockkratos

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-kratos/kratos/v2/errors"
	"github.com/go-kratos/kratos/v2/transport"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
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

// protocol tells package rpc about kratos.
type protocol struct{}

// Method implements [rpc.Protocol].
func (protocol) Method(name string) (info rpc.MethodInfo) {
	service, method, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	if strings.HasPrefix(service, "grpc.health.v1.") || strings.HasPrefix(service, "grpc.reflection.") || strings.HasPrefix(service, "kratos.api.") {
		return rpc.MethodInfo{Safe: true}
	}
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	s, ok := d.(protoreflect.ServiceDescriptor)
	if err != nil || !ok {
		return info // the path of an HTTP handler that was not generated
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
func (protocol) Code(err error) rpc.Code {
	if s, ok := status.FromError(err); ok {
		return rpc.Code(s.Code())
	}
	return rpc.Code(status.FromContextError(err).Code())
}

// MarshalError implements [rpc.Protocol].
func (protocol) MarshalError(err error) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(&errors.FromError(err).Status)
}

// UnmarshalError implements [rpc.Protocol].
func (protocol) UnmarshalError(data []byte) (failed, err error) {
	e := new(errors.Error)
	if err := proto.Unmarshal(data, &e.Status); err != nil {
		return nil, err
	}
	return e, nil
}

// convert returns an error of package rpc as an error of kratos.
func convert(tr transport.Transporter, err error) error {
	p, ok := err.(*rpc.Problem) //nolint:errorlint // a wrapped one was converted before
	if !ok {
		return err
	}
	if d := p.RetryDelay(); d > 0 && tr.Kind() == transport.KindHTTP {
		tr.ReplyHeader().Set("Retry-After", strconv.Itoa(int((d+time.Second-1)/time.Second)))
	}
	code := p.Status
	if code == 0 {
		code = http.StatusInternalServerError
	}
	return &problemError{errors.New(code, p.Reason(), p.Text).WithMetadata(p.Metadata()).WithCause(p), p}
}

// A problemError is an error of kratos with the gRPC status of package interlockgrpc.
type problemError struct {
	err     *errors.Error
	problem *rpc.Problem
}

// Error implements error.
func (e *problemError) Error() string { return e.err.Error() }

// GRPCStatus is for package status.
func (e *problemError) GRPCStatus() *status.Status {
	p := e.problem
	s := status.New(codes.Code(p.GRPC), p.Text)
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: p.Reason(), Domain: rpc.Domain, Metadata: p.Metadata()}}
	if d := p.RetryDelay(); d > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(d)})
	}
	if full, err := s.WithDetails(details...); err == nil {
		s = full
	}
	return s
}

// Unwrap returns the error of kratos, which wraps the problem.
func (e *problemError) Unwrap() error { return e.err }
