package interlockhttp

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
)

// An Option changes how a middleware works, beyond what its policy says.
type Option func(*settings)

// settings are what options set.
type settings struct {
	source        *Source
	user          func(*http.Request) string
	methods       []string
	optional      bool
	requireQuotes bool // about quotation marks
	minKey        int  // bytes of a key
	minClientKey  int  // of one that its client chose
	maxBody       int64
	bufferFirst   bool // the body, before a lock is asked for
	maxResponse   int
	bodyTimeout   time.Duration
	tee           bool
	secrets       [][]byte // for fingerprints, the newest first
	fingerprint   func(*http.Request, []byte) []byte
	ignoredQuery  []string // names in the query
	keptFields    map[string]bool
	statuses      map[Code]int
	messages      map[Code]guard.Message
	docs          string
	writeProblem  func(http.ResponseWriter, *http.Request, *Problem)
	shadow        func(Shadowed)
	tokens        *guard.Tokens
	form          string
	allow         func(*http.Request, *Response) bool
	guardOptions  []guard.Option
	lockOptions   []interlock.Option
	errs          []error
}

const (
	defaultMaxBody     = 1 << 20
	defaultMaxResponse = 1 << 20

	// maxStorable is less than the 512 MiB that Redis takes.
	maxStorable = 256 << 20

	// maxHeaderBytes is how many bytes the header of an answer may have that is kept.
	maxHeaderBytes = 64 << 10

	// minSharedKey is how many bytes a key has at least that is nobody's: a
	// shorter one could be guessed.
	minSharedKey = 16
)

func newSettings(opts []Option) *settings {
	s := &settings{maxBody: defaultMaxBody, maxResponse: defaultMaxResponse, docs: DefaultDocs}
	for _, opt := range opts {
		opt(s)
	}
	return s
}

func (s *settings) reject(format string, args ...any) {
	s.errs = append(s.errs, fmt.Errorf("interlockhttp: "+format, args...))
}

func (s *settings) err() error { return errors.Join(s.errs...) }

// Key sets where the key of a request is found. The default is [Header] for Once,
// and [Content] for Submit.
func Key(source Source) Option { return func(s *settings) { s.source = &source } }

// User sets who it is that sent a request, as authentication found out; never what
// the client says by itself. The same key of two users is two keys. A request
// whose user is empty is refused. It is required, unless the policy's scope is
// [guard.Global].
func User(of func(*http.Request) string) Option { return func(s *settings) { s.user = of } }

// Methods sets which methods are guarded; others pass. The default is POST and
// PATCH, and for [Lock] all.
func Methods(names ...string) Option {
	return func(s *settings) {
		if len(names) == 0 {
			s.reject("Methods(): nothing would be guarded: name some, or leave it out")
		}
		for _, name := range names {
			switch name {
			case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
				s.reject("Methods(%q): it changes nothing, so there is nothing to guard", name)
			}
			if !isToken(name) || name != strings.ToUpper(name) {
				s.reject("Methods(%q): no request has it: methods are in capital letters", name)
			}
		}
		s.methods = names
	}
}

// Optional lets requests without a key pass unguarded. By default they are refused.
func Optional() Option { return func(s *settings) { s.optional = true } }

// Quoted accepts only keys in quotation marks, as the standard has them. By default
// a key is the same with and without.
func Quoted() Option { return func(s *settings) { s.requireQuotes = true } }

// MinKey sets how many bytes a key has at least. The default is 1, or 16 if the
// policy's scope is [guard.Global] and clients choose the key, in a header or a
// cookie: nobody should be able to guess another's.
func MinKey(n int) Option {
	return func(s *settings) {
		if n < 1 || n > maxKey {
			s.reject("MinKey(%d): must be from 1 to %d", n, maxKey)
		}
		s.minKey = n
	}
}

// MaxBody bounds the body of a request, in bytes, all of which is read before the
// handler runs. A larger one is refused. The default is 1 MiB; [Lock] reads no body
// that it does not look into, unless this or [BodyTimeout] is set.
func MaxBody(n int64) Option {
	return func(s *settings) {
		if n < 1 {
			s.reject("MaxBody(%d): must be above zero", n)
		}
		s.maxBody, s.bufferFirst = n, true
	}
}

// MaxResponse bounds the body of an answer that is kept, in bytes. Of a larger one
// only that it was there is kept. The default is 1 MiB.
func MaxResponse(n int) Option {
	return func(s *settings) {
		if n < 1 || n > maxStorable {
			s.reject("MaxResponse(%d): must be from 1 to %d", n, maxStorable)
		}
		s.maxResponse = n
	}
}

// BodyTimeout bounds how long the body of a request may take to come. The default is
// what the server's ReadTimeout says.
func BodyTimeout(d time.Duration) Option {
	return func(s *settings) {
		if d <= 0 {
			s.reject("BodyTimeout(%v): must be above zero", d)
		}
		s.bodyTimeout, s.bufferFirst = d, true
	}
}

// Tee sends answers as the handler writes them, and stores them afterwards. By
// default an answer is stored first, so that a client which has it can rely on
// getting the same one again; one that its handler flushes is then not kept. An
// [net/http/httputil.ReverseProxy] flushes what comes without a length, so it is
// best used with Tee.
func Tee() Option { return func(s *settings) { s.tee = true } }

// Secrets makes fingerprints of requests depend on a secret, so that who sees the
// engine's records cannot find out by trying what a request was. The first is used;
// with the others, older requests are still recognised. All processes share them.
//
// A secret is replaced in three steps: add the new one behind the old one in every
// process, put it in front, and drop the old one when the last record from its time has
// run out. A process that does not have it yet takes a repeat for another request, and
// tells its client to use a new key.
func Secrets(newest []byte, older ...[]byte) Option {
	return func(s *settings) {
		s.secrets = nil
		for _, secret := range append([][]byte{newest}, older...) {
			if len(secret) < 16 {
				s.reject("Secrets: one of %d bytes can be guessed: use 32 random ones", len(secret))
			}
			s.secrets = append(s.secrets, slices.Clone(secret))
		}
	}
}

// Fingerprint sets what of a request must be the same when its key is used again.
// The default is the method, the route, the path, the query, and the body with its
// type. If that changes with a release, repeats of what was sent before are taken for
// other requests.
func Fingerprint(of func(r *http.Request, body []byte) []byte) Option {
	return func(s *settings) { s.fingerprint = of }
}

// IgnoreQuery leaves names in the query out of the fingerprint: those that change
// from try to try.
func IgnoreQuery(names ...string) Option {
	return func(s *settings) { s.ignoredQuery = append(s.ignoredQuery, names...) }
}

// KeepFields stores header fields of answers that are not stored by default, such as
// Set-Cookie.
func KeepFields(names ...string) Option { return setFields(true, names) }

// DropFields does not store header fields of answers.
func DropFields(names ...string) Option { return setFields(false, names) }

func setFields(kept bool, names []string) Option {
	return func(s *settings) {
		if s.keptFields == nil {
			s.keptFields = make(map[string]bool)
		}
		for _, name := range names {
			s.keptFields[http.CanonicalHeaderKey(name)] = kept
		}
	}
}

// Status sets the status of a kind of problem.
func Status(code Code, status int) Option {
	return func(s *settings) {
		if status < 400 || status > 599 {
			s.reject("Status(%q, %d): a problem's status is from 400 to 599", code, status)
		}
		if s.statuses == nil {
			s.statuses = make(map[Code]int)
		}
		s.statuses[code] = status
	}
}

// Message sets what a person is told of a kind of problem, by language.
func Message(code Code, m guard.Message) Option {
	return func(s *settings) {
		if s.messages == nil {
			s.messages = make(map[Code]guard.Message)
		}
		s.messages[code] = m
	}
}

// Docs sets where the kinds of problems are explained. The default is
// [DefaultDocs].
func Docs(url string) Option { return func(s *settings) { s.docs = url } }

// Answer sets who tells the client of a problem. The default is the problem's own
// ServeHTTP.
func WriteProblem(with func(http.ResponseWriter, *http.Request, *Problem)) Option {
	return func(s *settings) { s.writeProblem = with }
}

// Shadow observes, and enforces nothing: every request runs, as if there were no
// middleware, and report is told what would have happened to it instead. Of a lock it
// is told that a request met one that was taken.
func Shadow(report func(Shadowed)) Option {
	return func(s *settings) {
		if report == nil {
			s.reject("Shadow(nil): pass a function, such as one that logs")
		}
		s.shadow = report
	}
}

// WithTokens accepts as keys only tokens that were issued for form; see
// [TokenHandler].
func WithTokens(t *guard.Tokens, form string) Option {
	return func(s *settings) {
		if t == nil {
			s.reject("WithTokens(nil): make them with guard.NewTokens")
		}
		s.tokens, s.form = t, form
	}
}

// Allow sets who decides whether the sender of a request may still see the answer
// to an earlier one; if not, it gets no more than that the request was done. By
// default whoever passed authentication may.
func Allow(may func(*http.Request, *Response) bool) Option {
	return func(s *settings) { s.allow = may }
}

// Guarding passes options on to the guard.
func Guarding(opts ...guard.Option) Option {
	return func(s *settings) { s.guardOptions = append(s.guardOptions, opts...) }
}

// Locking passes options on to the locks of [Lock].
func Locking(opts ...interlock.Option) Option {
	return func(s *settings) { s.lockOptions = append(s.lockOptions, opts...) }
}

// guards tells whether requests with a method are looked at.
func (s *settings) guards(method string) bool {
	return slices.Contains(s.methods, method)
}

// seconds returns d in whole seconds, rounded up.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
