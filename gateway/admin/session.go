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

const (
	maxSessions = 1024
	sessionLife = 12 * time.Hour
)

// sessions are those of browsers, which cannot send a token with a stream of events.
// Of each only a hash is kept.
type sessions struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]session
}

type session struct {
	name  string
	role  config.Role
	until time.Time
}

func newSessions() *sessions { return &sessions{all: make(map[[sha256.Size]byte]session)} }

// begin returns the cookie of a new session.
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
	if len(x.all) >= maxSessions {
		delete(x.all, first) // the one that would end first
	}
	id := rand.Text() + rand.Text()
	x.all[sha256.Sum256([]byte(id))] = session{name, role, now.Add(sessionLife)}
	return id
}

func (x *sessions) find(id string) (session, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s, ok := x.all[sha256.Sum256([]byte(id))]
	return s, ok && time.Now().Before(s.until)
}

func (x *sessions) end(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.all, sha256.Sum256([]byte(id)))
}

// cookieName is what the cookie is called. Browsers hold a name that begins with
// __Host- to come over TLS and from this very host.
func cookieName(tls bool) string {
	if tls {
		return "__Host-interlock"
	}
	return "interlock"
}

// resume finds the session that a request belongs to.
func (d *auth) findSession(r *http.Request, by *actor) bool {
	c, err := r.Cookie(cookieName(by.tls))
	if err != nil {
		return false
	}
	s, ok := d.sessions.find(c.Value)
	if ok {
		by.name, by.role, by.session = s.name, s.role, c.Value
	}
	return ok
}

// cookie is one with a value, for as long as a session lives; without one it ends it.
func cookie(value string, tls bool) http.Cookie {
	life := int(sessionLife / time.Second)
	if value == "" {
		life = -1
	}
	return http.Cookie{
		Name: cookieName(tls), Value: value, Path: "/", MaxAge: life, Secure: tls, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
}

// An Identity is who the caller is.
type Identity struct {
	Authenticated bool        `json:"authenticated"`
	Name          string      `json:"name,omitempty"`
	Role          config.Role `json:"role,omitempty" enum:"view,operate"`
	ReadOnly      bool        `json:"read_only" doc:"Nobody can change anything here."`
	Tokens        bool        `json:"tokens" doc:"Tokens are asked for."`
}

// A visited answer may begin or end a session.
type sessionResponse struct {
	SetCookie []http.Cookie `header:"Set-Cookie"`
	Body      Identity
}

func (s *Server) sessionRoutes() {
	route(s, "get-session", "GET /session", "Ask who one is", "It can be asked without a token.", s.getSession)
	route(s, "begin-session", "POST /session", "Begin a session of a browser",
		"With a token, for a cookie that scripts cannot read and other sites cannot use. It lasts for 12 hours.", s.beginSession)
	route(s, "end-session", "DELETE /session", "End the session of a browser", "", s.endSession)
}

func (s *Server) getSession(ctx context.Context, _ *struct{}) (*sessionResponse, error) {
	return &sessionResponse{Body: s.identity(actorOf(ctx))}, nil
}

func (s *Server) identity(by actor) Identity {
	v := Identity{Authenticated: by.role != "", Role: by.role, ReadOnly: s.o.Config.ReadOnly, Tokens: len(s.auth.keys) > 0}
	if v.Authenticated {
		v.Name = by.name
	}
	return v
}

func (s *Server) beginSession(ctx context.Context, in *struct {
	Body struct {
		Token string `json:"token" minLength:"1" maxLength:"1024"`
	}
}) (*sessionResponse, error) {
	by := actorOf(ctx)
	if len(s.auth.keys) == 0 {
		return &sessionResponse{Body: s.identity(by)}, nil // there is nothing to sign in to
	}
	if p := s.auth.checkToken(in.Body.Token, &by); p != nil {
		s.audit.refuse(AuditEntry{Action: "begin-session", Code: p.Code}, by)
		return nil, p
	}
	s.audit.write(AuditEntry{Action: "begin-session", Result: "ok"}, by)
	return &sessionResponse{
		SetCookie: []http.Cookie{cookie(s.auth.sessions.begin(by.name, by.role), by.tls)},
		Body:      s.identity(by),
	}, nil
}

func (s *Server) endSession(ctx context.Context, _ *struct{}) (*sessionResponse, error) {
	by := actorOf(ctx)
	if by.session != "" {
		s.auth.sessions.end(by.session)
		s.audit.write(AuditEntry{Action: "end-session", Result: "ok"}, by)
	}
	return &sessionResponse{SetCookie: []http.Cookie{cookie("", by.tls)}, Body: s.identity(actor{})}, nil
}
