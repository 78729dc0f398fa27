package rpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// Settings collect the options of an adapter. The fields are as the options of package
// interlockhttp with the same names.
type Settings struct {
	User     func(context.Context) string
	Optional bool
	Guarding []guard.Option
	Locking  []interlock.Option
	OnKey    func(context.Context, guard.Key)

	fingerprint func(message any) []byte // nil for the whole message

	adapter     string // the package, for errors
	source      *Source
	methods     map[string]bool // nil for the default
	minKey      int
	minShared   int // for keys in the header
	maxReply    int
	notExecuted map[Code]bool
	tenants     []string // names of header fields that belong to the fingerprint
	errs        []error
}

const (
	defaultMaxReply = 1 << 20
	maxReply        = 256 << 20 // below the 512 MiB limit of a Redis value
	maxHeaderBytes  = 64 << 10
	maxKey          = 255 // bytes
	minSharedKey    = 16  // bytes of a key that all users share: a shorter one could be guessed
)

// NewSettings returns the defaults of an adapter, which is named as in errors.
func NewSettings[O ~func(*Settings)](adapter string, opts []O) *Settings {
	s := &Settings{adapter: adapter, maxReply: defaultMaxReply}
	s.SetTenants(interlockhttp.DefaultFingerprintHeaders())
	for _, opt := range opts {
		opt(s)
	}
	return s
}

// Reject records a mistake, so that the constructor reports all of them at once.
func (s *Settings) Reject(format string, args ...any) {
	s.errs = append(s.errs, fmt.Errorf(s.adapter+": "+format, args...))
}

func (s *Settings) err() error { return errors.Join(s.errs...) }

// SetKey sets where the key of a call is found.
func (s *Settings) SetKey(source Source) { s.source = &source }

// SetMethods sets which methods the middleware is for.
func (s *Settings) SetMethods(names []string) {
	if len(names) == 0 {
		s.Reject("Methods(): no method would be guarded: name at least one, or leave the option out")
	}
	s.methods = make(map[string]bool)
	for _, name := range names {
		service, method, ok := strings.Cut(strings.TrimPrefix(name, "/"), "/")
		if !ok || service == "" || method == "" || name[0] != '/' {
			s.Reject("Methods(%q): write a method as %q", name, "/shop.Orders/Create")
		}
		s.methods[name] = true
	}
}

// SetOperations sets which operations of a service the middleware is for. Their names may be
// those of methods or paths.
func (s *Settings) SetOperations(names []string) {
	if len(names) == 0 {
		s.Reject("Operations(): no operation would be guarded: name at least one, or leave the option out")
	}
	s.methods = make(map[string]bool)
	for _, name := range names {
		if !strings.HasPrefix(name, "/") {
			s.Reject("Operations(%q): write an operation as %q", name, "/shop.Orders/Create")
		}
		s.methods[name] = true
	}
}

// SetFingerprint sets which content of a message must be equal when a key is reused.
func (s *Settings) SetFingerprint(of func(message any) []byte) {
	if of == nil {
		s.Reject("Fingerprint(nil): leave the option out for the whole message")
	}
	s.fingerprint = of
}

// SetMinKey sets the minimum length of a key.
func (s *Settings) SetMinKey(n int) {
	if n < 1 || n > maxKey {
		s.Reject("MinKey(%d): must be from 1 to %d", n, maxKey)
	}
	s.minKey = n
}

// SetMaxReply sets the maximum size of a stored reply.
func (s *Settings) SetMaxReply(n int) {
	if n < 1 || n > maxReply {
		s.Reject("MaxReply(%d): must be from 1 to %d", n, maxReply)
	}
	s.maxReply = n
}

// SetNotExecuted sets codes by which the handler says that it did nothing.
func (s *Settings) SetNotExecuted(codes []Code) {
	s.notExecuted = make(map[Code]bool)
	for _, c := range codes {
		if c == OK || c > Unauthenticated {
			s.Reject("NotExecutedOn(%d): not the code of an error", c)
		}
		s.notExecuted[c] = true
	}
}

// SetTenants sets the header fields that belong to the fingerprint.
func (s *Settings) SetTenants(names []string) {
	s.tenants = nil
	for _, name := range names {
		s.tenants = append(s.tenants, strings.ToLower(name))
	}
	slices.Sort(s.tenants)
}

func (s *Settings) minimum(source Source) int {
	if source.shared && s.minKey == 0 {
		return s.minShared
	}
	return s.minKey
}

// checkMethods refuses names that would never match, or whose calls cannot be guarded.
func (s *Settings) checkMethods(p Protocol, streams bool) {
	for name := range s.methods {
		switch info := p.Method(name); {
		case info.Missing:
			s.Reject("%q: there is no such method", name)
		case info.Streaming && !streams:
			s.Reject("%q: a stream cannot be replayed: use Lock or Limit for it, or make the call unary", name)
		}
	}
}

// rejectGuardOptions refuses options that have no effect on locks and limits.
func (s *Settings) rejectGuardOptions() {
	for _, o := range []struct {
		name string
		set  bool
	}{
		{"User", s.User != nil}, {"Key", s.source != nil}, {"MinKey", s.minKey != 0}, {"MaxReply", s.maxReply != defaultMaxReply},
		{"NotExecutedOn", s.notExecuted != nil}, {"OnKey", s.OnKey != nil}, {"Fingerprint", s.fingerprint != nil}, {"Guarding", s.Guarding != nil},
	} {
		if o.set {
			s.Reject("%s: the option is only for Once and Submit", o.name)
		}
	}
}
