package interlockkratos

import (
	stderrors "errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-kratos/kratos/v2/errors"
	"github.com/go-kratos/kratos/v2/transport"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/interlock-go/interlock/internal/adapter/rpc"
)

// protocol tells package rpc about kratos.
type protocol struct{}

// Method implements [rpc.Protocol].
func (protocol) Method(name string) rpc.MethodInfo {
	service, method, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	if rpc.SafeService(service) || service == "kratos.api.Metadata" {
		return rpc.MethodInfo{Safe: true}
	}
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	s, ok := d.(protoreflect.ServiceDescriptor)
	if err != nil || !ok {
		return rpc.MethodInfo{Missing: described(protoreflect.FullName(service).Parent())} // or it is the path of an HTTP handler that was not generated
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
func (protocol) Code(err error) rpc.Code { return rpc.Code(statusOf(err).Code()) }

// statusOf returns the status that grpc sends for a handler's error.
func statusOf(err error) *status.Status {
	if s, ok := status.FromError(err); ok {
		return s
	}
	return status.FromContextError(err)
}

// Uncertain implements [rpc.Protocol].
func (p protocol) Uncertain(err error) bool {
	return rpc.Uncertain(p.Code(err), err.Error(), failureOf(err).Reason)
}

// MarshalError implements [rpc.Protocol]. The error has the status of gRPC and, as its last
// detail, that of kratos: neither contains the other.
func (protocol) MarshalError(err error) ([]byte, error) {
	s := statusOf(err).Proto()
	detail, failed := anypb.New(&errors.FromError(err).Status)
	if failed != nil {
		return nil, failed
	}
	s.Details = append(s.Details, detail)
	return proto.MarshalOptions{Deterministic: true}.Marshal(s)
}

// UnmarshalError implements [rpc.Protocol].
func (protocol) UnmarshalError(data []byte) (failed, err error) {
	s := new(statuspb.Status)
	if err := proto.Unmarshal(data, s); err != nil {
		return nil, err
	}
	last := len(s.GetDetails()) - 1
	if last < 0 {
		return nil, stderrors.New("interlockkratos: the stored error has no status of kratos")
	}
	e := new(errors.Error)
	if err := s.Details[last].UnmarshalTo(&e.Status); err != nil {
		return nil, err
	}
	s.Details = s.Details[:last]
	return &statusError{e, status.FromProto(s)}, nil
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
	return &statusError{errors.New(code, p.Reason(), p.Text).WithMetadata(p.Metadata()).WithCause(p), statusOfProblem(p)}
}

// statusOfProblem returns the gRPC status of package interlockgrpc.
func statusOfProblem(p *rpc.Problem) *status.Status {
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

// A statusError is an error of kratos with a gRPC status of its own.
type statusError struct {
	err    *errors.Error
	status *status.Status
}

// Error implements error.
func (e *statusError) Error() string { return e.err.Error() }

// GRPCStatus is for package status.
func (e *statusError) GRPCStatus() *status.Status { return e.status }

// Unwrap returns the error of kratos. If it is of this package, it wraps the problem.
func (e *statusError) Unwrap() error { return e.err }
