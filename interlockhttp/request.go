package interlockhttp

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/interlock-go/interlock/guard"
)

// A request is a guarded request and its state.
type request struct {
	*http.Request
	w          http.ResponseWriter
	middleware *Middleware
	settings   *settings
	next       http.Handler

	body           buffer
	partialBody    []byte // the part of the body that was read before an error
	keyField       string // the header field of the key; "" if it came from elsewhere
	outcomeContext outcomeContext
	capture        capture
	response       Response // to be stored
	notStored      bool     // a repeat does not get this response
	unguarded      bool     // the handler runs without a claim
	local          bool     // only this process knows of the claim
}

var errUnguarded = errors.New("interlockhttp: the request has no key and needs none")

// serve answers the request.
func (q *request) serve() {
	if q.settings.shadow != nil {
		q.observe()
		return
	}
	key, err := q.identify()
	switch {
	case errors.Is(err, errUnguarded):
		q.restoreBody()
		q.next.ServeHTTP(q.w, q.Request)
		return
	case err != nil:
		q.refuse(err)
		return
	}
	ctx, claim, err := q.begin(q.Context(), key)
	if err != nil {
		q.refuse(q.contextEnded(err)) // even if the client has disconnected: an empty response would be a 200
		return
	}
	if response, ok := claim.Result(); ok {
		q.replay(response, claim.Left())
		return
	}
	q.run(ctx, claim)
}

// identify returns the key of the request. Nothing is claimed yet.
func (q *request) identify() (guard.Key, error) {
	s, p := q.settings, &q.middleware.policy
	key := guard.Key{Route: q.route()}
	if s.user != nil {
		key.User = s.user(q.Request)
	}
	if key.User == "" && p.Scope != guard.Global {
		return key, newProblem(UserMissing)
	}
	text, err := s.source.find(q)
	switch {
	case errors.Is(err, errNoKey) && s.optional:
		return key, errUnguarded
	case err != nil:
		return key, q.keyProblem(s.source.keyLocation, err)
	case len(text) < s.minKey:
		return key, q.keyProblem(s.source.keyLocation, errShortKey)
	}
	key.ID = text
	if s.tokens != nil {
		if key, err = s.tokens.Redeem(text, key.User, s.form); err != nil {
			return key, err
		}
	}
	if s.onKey != nil {
		s.onKey(q.Request, key)
	}
	if err := q.rewind(); err != nil {
		return key, keyProblemOf(err)
	}
	if q.middleware.keeps() {
		if key.Fingerprint, err = q.fingerprint(0); err != nil {
			return key, keyProblemOf(err)
		}
	}
	return key, nil
}

var errShortKey = errors.New("the key is so short that it could be guessed")

// keyProblemOf turns an error from finding the key into a problem.
func keyProblemOf(err error) *Problem {
	var (
		body    *bodyError
		tooLong *http.MaxBytesError // a limit of an outer middleware
	)
	switch {
	case errors.Is(err, errTooLarge), errors.As(err, &tooLong):
		return problemOf(BodyTooLarge, err)
	case errors.As(err, &body) && isTimeout(err):
		return problemOf(BodyLate, err)
	case errors.As(err, &body):
		return problemOf(BodyBroken, err)
	case errors.Is(err, errNoKey):
		return problemOf(KeyMissing, err)
	}
	return problemOf(KeyInvalid, err)
}

// route returns the operation, if the policy's scope includes it.
func (q *request) route() string {
	if q.middleware.policy.Scope != guard.PerRoute {
		return ""
	}
	if q.Pattern != "" {
		return RouteOf(q.Method, q.Pattern)
	}
	return q.Method + " " + q.URL.Path
}

// RouteOf returns the [guard.Key] Route of requests that match a pattern of
// [http.ServeMux], such as "POST /orders/{id}".
func RouteOf(method, pattern string) string { return method + " " + unnamed(pattern) }

// unnamed returns a pattern without the names of its wildcards: renaming {id} must not
// make a retry another request.
func unnamed(pattern string) string {
	if !strings.Contains(pattern, "{") {
		return pattern
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(pattern, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		b.WriteByte('{')
		if name == "$" {
			b.WriteByte('$')
		} else if strings.HasSuffix(name, "...") {
			b.WriteString("...")
		}
		b.WriteByte('}')
		pattern = after
	}
}

// begin claims the key. If the fingerprint does not match, it tries the older secrets, and
// then no secret: the first request may have been stored with one of these.
func (q *request) begin(ctx context.Context, key guard.Key) (context.Context, *guard.Claim[*Response], error) {
	inner, claim, err := q.middleware.guard.Begin(ctx, key)
	for n := 1; n <= len(q.settings.secrets) && key.Fingerprint != "" && errors.Is(err, guard.ErrMismatch); n++ {
		if key.Fingerprint, err = q.fingerprint(n); err == nil {
			inner, claim, err = q.middleware.guard.Begin(ctx, key) //nolint:fatcontext // each call starts from ctx
		}
	}
	return inner, claim, err
}

// run calls the handler and settles the claim. If the handler panics, the outcome is
// unknown, and the panic continues.
func (q *request) run(ctx context.Context, claim *guard.Claim[*Response]) {
	defer claim.Abandon() //nolint:errcheck // the claim is settled by then, unless the handler panicked
	q.unguarded = claim.Unguarded() != nil
	q.notStored, q.local = q.unguarded, claim.Local()
	c := &q.capture
	c.maxBody, c.keeping = q.settings.maxResponse, q.middleware.keeps()
	c.passThrough = q.settings.tee || !c.keeping
	c.begin(q.w, q.Method, q)
	defer c.returned.Store(true) // also after a panic
	r := q.work(ctx)
	defer q.copyBack(r)
	q.next.ServeHTTP(c, r)
	c.end()
	q.settle(claim)
	c.send()
	c.header.release() // goroutines of the handler see that it has returned, and do not read it
}

// work returns the request for the handler: with the whole body, and with a context that
// does not end when the client disconnects. It has no GetBody, so that a proxy sends the
// body once. net/http still resends a request without a body, because it sees the key,
// unless the proxy's transport is a [Transport].
func (q *request) work(ctx context.Context) *http.Request {
	r := q.withOutcome(ctx)
	r.ContentLength, r.TransferEncoding, r.GetBody = int64(len(q.body.data)), nil, nil
	if r.Body != nil && r.Body != http.NoBody {
		q.body.Reset(q.body.data)
		r.Body = &q.body
	}
	return r
}

// withOutcome returns the request with a context on which the handler may call Settle,
// and by which the middleware recognises the request.
func (q *request) withOutcome(ctx context.Context) *http.Request {
	outer, _ := q.Context().Value(outcomeKey{}).(*outcomeContext)
	q.outcomeContext = outcomeContext{Context: ctx, middleware: q.middleware, outer: outer}
	return q.Request.WithContext(&q.outcomeContext)
}

// copyBack copies fields that the handler's request r got from the handler or a mux to the
// original request. The server needs MultipartForm to remove temporary files.
func (q *request) copyBack(r *http.Request) {
	if q.MultipartForm == nil {
		q.MultipartForm = r.MultipartForm
	}
	if q.Pattern == "" {
		q.Pattern = r.Pattern
	}
}

// mark sets our own header fields of a response.
func (q *request) mark(h http.Header) {
	if q.keyField != "" {
		h[fieldKey] = q.Header[q.keyField]
	}
	if q.unguarded { // set late, because a proxy that forwards a 1xx clears the header
		h.Set(fieldUnguarded, "true")
	}
	if q.local {
		h.Set(fieldLocal, "true")
	}
	if !q.middleware.keeps() {
		return
	}
	if q.notStored || q.capture.omitted != "" || q.capture.passThrough && !q.keepsStatus(q.capture.status) {
		h[fieldStored] = notStored
		return
	}
	h[fieldExpires] = q.middleware.expires
}

var notStored, replayed, noStore = []string{"false"}, []string{"true"}, []string{"no-store"}

// replay sends the stored response, which is kept for left.
func (q *request) replay(r *Response, left time.Duration) {
	switch allow := q.settings.allow; {
	case allow != nil && !allow(q.Request, r):
		q.refuse(newProblem(ResultUnavailable))
		return
	case r.Omitted != "":
		p := newProblem(ResultUnavailable)
		p.OriginalStatus, p.Location = r.Status, r.Header.Get("Location")
		q.refuse(p)
		return
	}
	h := q.w.Header()
	q.mark(h)
	if q.middleware.keeps() {
		h[fieldExpires] = []string{wholeSeconds(left)}
	}
	r.write(q.w, h)
}

// write sends a stored response.
func (r *Response) write(w http.ResponseWriter, h http.Header) {
	maps.Copy(h, r.Header)
	h[fieldReplayed], h["Cache-Control"] = replayed, noStore
	for name := range r.Trailer {
		h.Add("Trailer", name)
	}
	if hasBody(r.Status) && len(r.Trailer) == 0 {
		h.Set("Content-Length", lengthOf(r.Body))
	}
	w.WriteHeader(r.Status)
	if hasBody(r.Status) {
		_, _ = w.Write(r.Body) // on an error the client may repeat the request
	}
	maps.Copy(h, r.Trailer)
}
