package admin

import (
	"cmp"
	"context"
	"net/url"
	"sync"
	"time"

	"github.com/interlock-go/interlock/gateway/config"
)

// Rules are the gateway's configuration, without secrets.
type Rules struct {
	File      string   `json:"file" doc:"The configuration file."`
	Namespace string   `json:"namespace,omitempty"`
	Engine    []string `json:"engine" doc:"URLs, without passwords."`
	Listen    string   `json:"listen,omitempty"`
	To        []string `json:"to" doc:"URLs of the upstream, without passwords."`
	Tokens    string   `json:"tokens,omitempty" doc:"The path of the token endpoint."`
	Rules     []Rule   `json:"rules" doc:"In the order of the file."`
	Reload    *Reload  `json:"reload,omitempty" doc:"The result of the last reload."`
}

// A Rule is a lock or guard for the requests that it matches.
type Rule struct {
	Name      string            `json:"name"`
	At        string            `json:"at" doc:"Its position in the file, line:column."`
	Methods   []string          `json:"methods" doc:"Empty: any."`
	Path      string            `json:"path"`
	Host      string            `json:"host,omitempty"`
	Header    map[string]string `json:"header,omitempty"`
	Verb      string            `json:"verb" example:"once"`
	Key       string            `json:"key" doc:"A template."`
	Preset    string            `json:"preset,omitempty"`
	Principal string            `json:"principal" enum:"none,mtls,header,jwt,"`
	Form      string            `json:"form,omitempty"`
	Optional  bool              `json:"optional"`
	Continue  bool              `json:"continue"`
	Shadow    bool              `json:"shadow"`
	Policy    *Policy           `json:"policy,omitempty" doc:"Only for once and submit."`
}

// A Policy is the policy of a guard.
type Policy struct {
	Scope       string `json:"scope"`
	After       string `json:"after"`
	WindowMS    int64  `json:"window_ms,omitempty"`
	RetainMS    int64  `json:"retain_ms"`
	LeaseMS     int64  `json:"lease_ms"`
	OnDuplicate string `json:"on_duplicate"`
	OnError     string `json:"on_error"`
	OnUnknown   string `json:"on_unknown"`
	OnDown      string `json:"on_down"`
	Status      int    `json:"status"`
}

// A Reload is the result of reading the configuration again.
type Reload struct {
	Time  time.Time `json:"time"`
	OK    bool      `json:"ok"`
	Error string    `json:"error,omitempty" doc:"Why the previous configuration stays in use."`
}

// gatewayRoutes registers the operations on the configuration. Both share the last
// reload.
func (s *Server) gatewayRoutes() {
	var last reloads
	route(s, "list-rules", "GET /rules", "Get the gateway's rules", "Secrets are left out.", func(_ context.Context, _ *struct{}) (*body[Rules], error) {
		return s.rules(cmp.Or(s.reloaded(), last.latest()))
	})
	route(s, "reload", "POST /reload", "Read the configuration again", "All or nothing: if the file has a mistake, the previous configuration stays in use.",
		func(ctx context.Context, in *struct{ Body ReasonBody }) (*body[Reload], error) {
			entry := AuditEntry{Action: "reload", Reason: in.Body.Reason}
			err := s.act(ctx, &entry, func() error {
				if s.o.Reload == nil {
					return problem(NotSupported, "this process has no configuration file to reload")
				}
				err := s.o.Reload(ctx)
				last.record(err)
				if err != nil {
					return problem(Invalid, "the previous configuration stays in use: %v", err)
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
			return answer(*last.latest()), nil
		})
}

// reloaded returns the result of the last reload; nil if it is not known.
func (s *Server) reloaded() *Reload {
	if s.o.Reloaded == nil {
		return nil
	}
	return s.o.Reloaded()
}

// reloads remembers the last reload through this API.
type reloads struct {
	// mu guards last. A Reload is replaced, never modified: readers may keep the pointer.
	mu   sync.Mutex
	last *Reload
}

// record stores the result of a reload, even of a failed one.
func (x *reloads) record(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.last = &Reload{Time: time.Now().UTC(), OK: err == nil, Error: text(err)}
}

// latest returns the last result; nil before the first reload.
func (x *reloads) latest() *Reload {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.last
}

// rules reads the configuration in use, not the file, which may have changed since.
func (s *Server) rules(last *Reload) (*body[Rules], error) {
	var cfg *config.Config
	if s.o.Rules != nil {
		cfg = s.o.Rules()
	}
	if cfg == nil {
		return nil, problem(NotSupported, "this process has no gateway")
	}
	out := Rules{File: cfg.File, Namespace: cfg.Namespace, Engine: []string{}, Listen: cfg.Listen, To: []string{}, Rules: []Rule{}, Reload: last}
	for _, at := range append(append([]string{cfg.Engine.URL}, cfg.Engine.Quorum...), cfg.Engine.Standby...) {
		if at != "" {
			out.Engine = append(out.Engine, redacted(at))
		}
	}
	for _, to := range cfg.Upstream.To {
		out.To = append(out.To, redacted(to.String()))
	}
	if cfg.Tokens != nil {
		out.Tokens = cfg.Tokens.Path
	}
	for i := range cfg.Rules {
		out.Rules = append(out.Rules, ruleOf(&cfg.Rules[i]))
	}
	return answer(out), nil
}

// ruleOf converts a rule. It contains no secrets: a key is a template, and a principal is
// reduced to its kind.
func ruleOf(r *config.Rule) Rule {
	out := Rule{
		Name: r.Do.Name, At: r.At.String(), Methods: append([]string{}, r.Match.Methods...), Path: r.Match.Path, Host: r.Match.Host,
		Header: r.Match.Header, Verb: string(r.Do.Verb), Preset: r.Preset, Principal: principalOf(r.Principal), Form: r.Form,
		Optional: r.Optional, Continue: r.Continue, Shadow: r.Shadow,
	}
	if r.Key != nil {
		out.Key = r.Key.String()
	}
	if p := r.Policy; p.Name != "" {
		out.Policy = &Policy{
			Scope: string(p.Scope), After: string(p.After), WindowMS: p.Window.Milliseconds(), RetainMS: p.Retain.Milliseconds(),
			LeaseMS: p.Lease.Milliseconds(), OnDuplicate: string(p.OnDuplicate), OnError: string(p.OnError),
			OnUnknown: string(p.OnUnknown), OnDown: string(p.OnDown), Status: p.Status,
		}
	}
	return out
}

// principalOf returns the kind only: a JWT principal names files and URLs of the server.
func principalOf(p config.Principal) string {
	switch {
	case p.None:
		return "none"
	case p.MTLS:
		return "mtls"
	case p.Header != "":
		return "header"
	case p.JWT != nil:
		return "jwt"
	}
	return ""
}

// redacted returns a URL without credentials: no user, no password, and no values in the
// query, which may contain either.
func redacted(at string) string {
	u, err := url.Parse(at)
	if err != nil {
		return "(not a URL)" // the text may contain a password
	}
	if u.User != nil {
		u.User = url.User("redacted")
	}
	if q, err := url.ParseQuery(u.RawQuery); err != nil || u.Opaque != "" {
		u.RawQuery, u.Opaque = "", "" // either may contain a password
	} else if len(q) > 0 {
		for name := range q {
			q.Set(name, "redacted")
		}
		u.RawQuery = q.Encode()
	}
	u.Fragment = ""
	return u.String()
}
