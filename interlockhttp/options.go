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

// An Option configures a middleware, besides its policy.
type Option func(*settings)

// settings collects the options.
type settings struct {
	source        *Source
	user          func(*http.Request) string
	methods       []string
	optional      bool
	requireQuotes bool // accept only quoted keys
	minKey        int  // minimum bytes of any key
	minClientKey  int  // minimum bytes of a key in a header or cookie
	maxBody       int64
	bufferFirst   bool // read the body before acquiring a lock
	maxResponse   int
	notExecuted   map[int]bool // statuses
	keepRedirects bool
	bodyTimeout   time.Duration
	tee           bool
	secrets       [][]byte // for fingerprints, newest first
	fingerprint   func(*http.Request, []byte) []byte
	ignoredQuery  []string // names of query parameters

	fingerprintHeaders []string // canonical and sorted
	keptFields         map[string]bool
	statuses           map[Code]int
	messages           map[Code]guard.Message
	docs               string
	writeProblem       func(http.ResponseWriter, *http.Request, *Problem)
	onKey              func(*http.Request, guard.Key)
	shadow             func(Shadowed)
	tokens             *guard.Tokens
	form               string
	allow              func(*http.Request, *Response) bool
	guardOptions       []guard.Option
	lockOptions        []interlock.Option
	errs               []error
}

const (
	defaultMaxBody     = 1 << 20
	defaultMaxResponse = 1 << 20

	// maxStorable is below the 512 MiB limit of a Redis value.
	maxStorable = 256 << 20

	// maxHeaderBytes bounds the header of a stored response.
	maxHeaderBytes = 64 << 10

	// minSharedKey is the minimum length of a key that all users share, since a shorter
	// one could be guessed.
	minSharedKey = 16
)

func newSettings(opts []Option) *settings {
	s := &settings{maxBody: defaultMaxBody, maxResponse: defaultMaxResponse, docs: DefaultDocs, fingerprintHeaders: accountHeaders}
	for _, opt := range opts {
		opt(s)
	}
	return s
}

// reject records a mistake, so that the constructor can report all of them at once.
func (s *settings) reject(format string, args ...any) {
	s.errs = append(s.errs, fmt.Errorf("interlockhttp: "+format, args...))
}

func (s *settings) err() error { return errors.Join(s.errs...) }

// accountHeaders are fields that usually name the account, store or tenant of a request.
var accountHeaders = []string{
	"Stripe-Account", "Stripe-Context", "X-Account-Id", "X-Merchant-Id", "X-Org-Id", "X-Organization-Id", "X-Project-Id",
	"X-Shop-Id", "X-Store-Id", "X-Tenant", "X-Tenant-Id",
}

// FingerprintHeaders sets the header fields that distinguish requests with one key: the
// same key with another value is refused with 422. Default: fields that name an account,
// such as Stripe-Account and X-Tenant-Id; see [DefaultFingerprintHeaders]. Called without
// names, it ignores all fields.
func FingerprintHeaders(names ...string) Option {
	return func(s *settings) {
		s.fingerprintHeaders = nil
		for _, name := range names {
			if !isToken(name) {
				s.reject("FingerprintHeaders(%q): not the name of a field", name)
			}
			s.fingerprintHeaders = append(s.fingerprintHeaders, http.CanonicalHeaderKey(name))
		}
		slices.Sort(s.fingerprintHeaders)
		s.fingerprintHeaders = slices.Compact(s.fingerprintHeaders)
	}
}

// DefaultFingerprintHeaders returns the default of [FingerprintHeaders].
func DefaultFingerprintHeaders() []string { return slices.Clone(accountHeaders) }

// Key sets where the key of a request is found. Default: [Header] for Once, [Content]
// for Submit.
func Key(source Source) Option { return func(s *settings) { s.source = &source } }

// User sets the function that returns the authenticated user of a request. The function
// must not trust what the client claims. Keys belong to a user: two users may use the same
// key. A request with an empty user is refused. Required, unless the policy's scope is
// [guard.Global].
func User(of func(*http.Request) string) Option { return func(s *settings) { s.user = of } }

// Methods sets which methods are guarded; others pass. Default: POST and PATCH; all
// methods for [Lock].
func Methods(names ...string) Option {
	return func(s *settings) {
		if len(names) == 0 {
			s.reject("Methods(): nothing would be guarded: name at least one, or leave the option out")
		}
		for _, name := range names {
			switch name {
			case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
				s.reject("Methods(%q): a safe method needs no guard", name)
			}
			if !isToken(name) || name != strings.ToUpper(name) {
				s.reject("Methods(%q): not a method: use capital letters", name)
			}
		}
		s.methods = names
	}
}

// Optional lets requests without a key pass unguarded. Default: they are refused.
func Optional() Option { return func(s *settings) { s.optional = true } }

// Quoted accepts only keys in quotation marks, as the standard requires. Default: a key
// is the same with and without them.
func Quoted() Option { return func(s *settings) { s.requireQuotes = true } }

// MinKey sets the minimum length of a key, in bytes. Default: 1, or 16 for keys in a
// header or cookie if the policy's scope is [guard.Global], so that one client cannot
// guess another's key.
func MinKey(n int) Option {
	return func(s *settings) {
		if n < 1 || n > maxKey {
			s.reject("MinKey(%d): must be from 1 to %d", n, maxKey)
		}
		s.minKey = n
	}
}

// MaxBody bounds the body of a request, in bytes. The whole body is read before the
// handler runs; a larger one is refused. Default: 1 MiB. [Lock] reads the body only if
// its source needs it, or if this or [BodyTimeout] is set.
func MaxBody(n int64) Option {
	return func(s *settings) {
		if n < 1 {
			s.reject("MaxBody(%d): must be above zero", n)
		}
		s.maxBody, s.bufferFirst = n, true
	}
}

// MaxResponse bounds the body of a stored response, in bytes. For a larger one the record
// only says that the request was done. Default: 1 MiB.
func MaxResponse(n int) Option {
	return func(s *settings) {
		if n < 1 || n > maxStorable {
			s.reject("MaxResponse(%d): must be from 1 to %d", n, maxStorable)
		}
		s.maxResponse = n
	}
}

// NotExecutedOn lists statuses by which the handler says that it did nothing: they free
// the key. It adds to 401, 403, 407, 408, 421, 423, 425, 429 and 503, and overrules
// the policy's OnError.
func NotExecutedOn(statuses ...int) Option {
	return func(s *settings) {
		if s.notExecuted == nil {
			s.notExecuted = make(map[int]bool)
		}
		for _, status := range statuses {
			if status < 300 || status > 599 {
				s.reject("NotExecutedOn(%d): must be from 300 to 599", status)
			}
			s.notExecuted[status] = true
		}
	}
}

// KeepRedirects keeps 3xx responses, for a handler that redirects to the page of the new
// order. Default: a 307 or 308 frees the key. Any other 3xx leaves the outcome unknown,
// because it may lead to the page where users sign in.
func KeepRedirects() Option { return func(s *settings) { s.keepRedirects = true } }

// BodyTimeout bounds how long reading the body of a request may take. Default: the
// server's ReadTimeout.
func BodyTimeout(d time.Duration) Option {
	return func(s *settings) {
		if d <= 0 {
			s.reject("BodyTimeout(%v): must be above zero", d)
		}
		s.bodyTimeout, s.bufferFirst = d, true
	}
}

// Tee sends a response while the handler writes it, and stores it afterwards. Default:
// the response is stored before it is sent. With the default, a client that received a
// response always gets the same one again, but a response that the handler flushes is not
// kept. Use Tee
// with [net/http/httputil.ReverseProxy], which flushes responses without a length.
func Tee() Option { return func(s *settings) { s.tee = true } }

// Secrets hashes fingerprints with a secret, so that a reader of the engine cannot guess
// the content of a request. The newest secret is used; the older ones still recognise
// earlier requests. All processes must share them.
//
// Replace a secret in three steps. First add the new secret behind the old one in every
// process. Then move it to the front. Drop the old one when its last record has expired.
// A process without the new secret treats a repeat as another request, and refuses it
// with [KeyReused].
func Secrets(newest []byte, older ...[]byte) Option {
	return func(s *settings) {
		s.secrets = nil
		for _, secret := range append([][]byte{newest}, older...) {
			if len(secret) < 16 {
				s.reject("Secrets: a secret of %d bytes can be guessed: use 32 random bytes", len(secret))
			}
			s.secrets = append(s.secrets, slices.Clone(secret))
		}
	}
}

// Fingerprint sets which content must be equal when a key is reused. Default: the method,
// route, path, query, and the body with its type. If a release changes the function,
// repeats of earlier requests count as mismatches.
func Fingerprint(of func(r *http.Request, body []byte) []byte) Option {
	return func(s *settings) { s.fingerprint = of }
}

// IgnoreQuery leaves query parameters out of the fingerprint, for those that change
// between retries.
func IgnoreQuery(names ...string) Option {
	return func(s *settings) { s.ignoredQuery = append(s.ignoredQuery, names...) }
}

// KeepFields stores header fields of responses that are not stored by default, such as
// Set-Cookie.
func KeepFields(names ...string) Option { return setFields(true, names) }

// DropFields excludes header fields of responses from being stored.
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

// Status sets the HTTP status of a problem code.
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

// Message sets the text of a problem code, by language.
func Message(code Code, m guard.Message) Option {
	return func(s *settings) {
		if s.messages == nil {
			s.messages = make(map[Code]guard.Message)
		}
		s.messages[code] = m
	}
}

// Docs sets the URL of the page that explains the problem codes. Default: [DefaultDocs].
func Docs(url string) Option { return func(s *settings) { s.docs = url } }

// WriteProblem sets the function that sends a problem to the client. Default:
// [Problem.ServeHTTP].
func WriteProblem(write func(http.ResponseWriter, *http.Request, *Problem)) Option {
	return func(s *settings) { s.writeProblem = write }
}

// Shadow observes without enforcing: every request runs as without the middleware. For a
// request that the middleware would have refused or answered with a replay, it calls
// report.
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

// Allow sets the function that decides whether the sender may see an earlier response. If
// it returns false, the sender only learns that the request was done. Default: every
// authenticated sender may see it.
func Allow(may func(*http.Request, *Response) bool) Option {
	return func(s *settings) { s.allow = may }
}

// OnKey sets a function that gets the key of each request before it is claimed. With
// [guard.StoredKey], a log can name the record. The function must not change the request.
func OnKey(f func(*http.Request, guard.Key)) Option { return func(s *settings) { s.onKey = f } }

// Guarding passes options on to the guard.
func Guarding(opts ...guard.Option) Option {
	return func(s *settings) { s.guardOptions = append(s.guardOptions, opts...) }
}

// Locking passes options on to the locks of [Lock].
func Locking(opts ...interlock.Option) Option {
	return func(s *settings) { s.lockOptions = append(s.lockOptions, opts...) }
}

// guards reports whether requests with the method are guarded.
func (s *settings) guards(method string) bool {
	return slices.Contains(s.methods, method)
}

// wholeSeconds returns d in seconds, rounded down: a client must not rely on a stored
// response for longer than d.
func wholeSeconds(d time.Duration) string {
	return strconv.FormatInt(int64(max(d, 0)/time.Second), 10)
}

// seconds returns d in seconds, rounded up.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
