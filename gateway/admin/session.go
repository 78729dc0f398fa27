package admin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"github.com/interlock-go/interlock/gateway/config"
)

// maxSessions bounds the memory that a client with a token can use. sessionLife covers a
// working day, after which the user signs in again.
const (
	maxSessions = 1024
	sessionLife = 12 * time.Hour
)

// sessions are for browsers, which cannot send a token with an event stream. Only a hash
// of each cookie is stored.
type sessions struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]session
}

// A session has the role that its token had when the session began.
type session struct {
	name  string
	role  config.Role
	until time.Time
}

// newSessions starts empty: a restart ends all sessions.
func newSessions() *sessions { return &sessions{all: make(map[[sha256.Size]byte]session)} }

// begin starts a session, and returns its cookie. It removes expired sessions, and if
// there are too many, the one that expires first.
func (x *sessions) begin(name string, role config.Role) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	var first [sha256.Size]byte
	for sum, s := range x.all {
		if !now.Before(s.until) {
			delete(x.all, sum)
		} else if old, ok := x.all[first]; !ok || s.until.Before(old.until) {
			first = sum
		}
	}
	// Only clients with a token can begin sessions, so only they can evict one another.
	if len(x.all) >= maxSessions {
		delete(x.all, first)
	}
	// Twice 128 bits of randomness.
	id := rand.Text() + rand.Text()
	x.all[sha256.Sum256([]byte(id))] = session{name, role, now.Add(sessionLife)}
	return id
}

// find looks a cookie up by its hash. The time of a map lookup reveals only hashes.
func (x *sessions) find(id string) (session, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s, ok := x.all[sha256.Sum256([]byte(id))]
	return s, ok && time.Now().Before(s.until)
}

// end makes the cookie invalid on the server: deleting it in the browser is not enough.
func (x *sessions) end(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.all, sha256.Sum256([]byte(id)))
}

// cookieName returns the name of the session cookie. Browsers accept the prefix __Host-
// only over TLS and from the host itself.
func cookieName(tls bool) string {
	if tls {
		return "__Host-interlock"
	}
	return "interlock"
}

// findSession authenticates a request by its session cookie.
func (d *auth) findSession(r *http.Request, sender *actor) bool {
	c, err := r.Cookie(cookieName(sender.tls))
	if err != nil {
		return false
	}
	s, ok := d.sessions.find(c.Value)
	if ok {
		sender.name, sender.role, sender.session = s.name, s.role, c.Value
	}
	return ok
}

// cookie returns a session cookie. An empty value deletes the cookie.
func cookie(value string, tls bool) http.Cookie {
	life := int(sessionLife / time.Second)
	if value == "" {
		// A negative MaxAge makes the browser delete the cookie at once.
		life = -1
	}
	return http.Cookie{
		Name: cookieName(tls), Value: value, Path: "/", MaxAge: life, Secure: tls, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
}

// An Identity is the caller, as authenticated.
type Identity struct {
	Authenticated bool        `json:"authenticated"`
	Name          string      `json:"name,omitempty"`
	Role          config.Role `json:"role,omitempty" enum:"view,operate"`
	ReadOnly      bool        `json:"read_only" doc:"The API refuses every change."`
	Tokens        bool        `json:"tokens" doc:"The API requires tokens."`
}

// A sessionResponse may set or delete the session cookie.
type sessionResponse struct {
	SetCookie []http.Cookie `header:"Set-Cookie"`
	Body      Identity
}

// sessionRoutes registers the operations that a browser needs to sign in and out.
func (s *Server) sessionRoutes() {
	route(s, "get-session", "GET /session", "Get the caller's identity", "It needs no token.", s.getSession)
	route(s, "begin-session", "POST /session", "Start a browser session",
		"Exchanges a token for a cookie that scripts cannot read and other sites cannot use. It is valid for 12 hours.", s.beginSession)
	route(s, "end-session", "DELETE /session", "End a browser session", "", s.endSession)
}

// getSession tells a page whether to ask for a token. It answers clients without one,
// too.
func (s *Server) getSession(ctx context.Context, _ *struct{}) (*sessionResponse, error) {
	return &sessionResponse{Body: s.identity(actorOf(ctx))}, nil
}

// identity returns what a caller may know about itself. Pages use it to decide whether to
// ask for a token.
func (s *Server) identity(sender actor) Identity {
	v := Identity{Authenticated: sender.role != "", Role: sender.role, ReadOnly: s.o.Config.ReadOnly, Tokens: len(s.auth.keys) > 0}
	if v.Authenticated {
		v.Name = sender.name
	}
	return v
}

// beginSession takes the token from the body once. Afterwards the page need not keep it.
func (s *Server) beginSession(ctx context.Context, in *struct {
	Body struct {
		Token string `json:"token" minLength:"1" maxLength:"1024"`
	}
}) (*sessionResponse, error) {
	sender := actorOf(ctx)
	if len(s.auth.keys) == 0 {
		return &sessionResponse{Body: s.identity(sender)}, nil // without tokens there are no sessions
	}
	if p := s.auth.checkToken(in.Body.Token, &sender); p != nil {
		s.audit.refuse(AuditEntry{Action: "begin-session", Code: p.Code}, sender)
		return nil, p
	}
	s.audit.write(AuditEntry{Action: "begin-session", Result: "ok"}, sender)
	return &sessionResponse{
		SetCookie: []http.Cookie{cookie(s.auth.sessions.begin(sender.name, sender.role), sender.tls)},
		Body:      s.identity(sender),
	}, nil
}

// LoginPath is the path of a link that starts a browser session: LoginPath?token=TOKEN.
const LoginPath = "/login"

// login exchanges the token in the link for a session cookie.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	sender := actorOf(r.Context())
	if r.Method != http.MethodGet {
		problem(MethodNotAllowed, "%s is a link for browsers: use GET", LoginPath).write(w)
		return
	}
	if len(s.auth.keys) > 0 {
		if p := s.auth.checkToken(r.URL.Query().Get("token"), &sender); p != nil {
			s.audit.refuse(AuditEntry{Action: "begin-session", Code: p.Code}, sender)
			p.write(w)
			return
		}
		s.audit.write(AuditEntry{Action: "begin-session", Result: "ok"}, sender)
		c := cookie(s.auth.sessions.begin(sender.name, sender.role), sender.tls)
		http.SetCookie(w, &c)
	}
	// A redirect keeps the token out of the address bar and the history.
	w.Header().Set("Location", s.o.Prefix+"/api/v1/session")
	w.WriteHeader(http.StatusSeeOther)
}

// endSession needs no valid session: a page may always forget its cookie.
func (s *Server) endSession(ctx context.Context, _ *struct{}) (*sessionResponse, error) {
	sender := actorOf(ctx)
	if sender.session != "" {
		s.auth.sessions.end(sender.session)
		s.audit.write(AuditEntry{Action: "end-session", Result: "ok"}, sender)
	}
	return &sessionResponse{SetCookie: []http.Cookie{cookie("", sender.tls)}, Body: s.identity(actor{})}, nil
}
