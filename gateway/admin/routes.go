package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// version is that of the API, not of the program.
const version = "1.0.0"

// maxBody is how long a request may be, in bytes: what is written by hand is shorter.
const maxBody = 64 << 10

const about = `Locks, claims, rules and events of Interlock, for people and programs.

Who calls shows a token (` + "`Authorization: Bearer …`" + `) or the cookie of a session. On the loopback, if no tokens are
configured, nobody has to. GET changes nothing. Everything that changes something needs the role operate and a reason, and is
written down in the audit trail.

Keys are whatever people have put into them: show them escaped. In a path they are percent-encoded, slashes included;
` + "`?encoding=base64url`" + ` says that the key in the path is encoded so instead, for the keys ., .. and / which are taken
for directories on the way.`

// build makes the handler of what is let in.
func (s *Server) build() error {
	c := huma.DefaultConfig("Interlock admin API", version)
	c.Info.Description = about
	c.CreateHooks = nil // no $schema in answers
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "", "", ""
	c.Transformers = []huma.Transformer{translate}
	c.Servers = []*huma.Server{{URL: s.o.Prefix + "/"}}
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token":   {Type: "http", Scheme: "bearer"},
		"session": {Type: "apiKey", In: "cookie", Name: cookieName(true)},
	}
	c.Security = []map[string][]string{{"token": {}}, {"session": {}}, {}}
	s.mux = http.NewServeMux()
	s.api = humago.NewWithPrefix(s.mux, s.o.Prefix, c)
	s.lockRoutes()
	s.claimRoutes()
	s.gatewayRoutes()
	s.healthRoutes()
	s.standbyRoutes()
	s.eventRoutes()
	s.sessionRoutes()
	for _, unused := range []string{"ErrorModel", "ErrorDetail"} {
		delete(s.api.OpenAPI().Components.Schemas.Map(), unused) // huma's own; ours is Problem
	}
	text, err := json.MarshalIndent(s.api.OpenAPI(), "", "  ")
	if err != nil {
		return fmt.Errorf("admin: the OpenAPI document: %w", err)
	}
	s.document = append(text, '\n')
	s.mux.HandleFunc("GET "+s.o.Prefix+"/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(s.document)
	})
	return nil
}

// Document returns the OpenAPI document.
func (s *Server) Document() []byte { return s.document }

// route adds an operation: what huma needs to know of it, from "GET /locks" and a
// sentence.
func route[I, O any](s *Server, id, at, summary, description string, do func(context.Context, *I) (*O, error)) {
	method, path, _ := strings.Cut(at, " ")
	registry := s.api.OpenAPI().Components.Schemas
	huma.Register(s.api, huma.Operation{
		OperationID: id, Method: method, Path: "/api/v1" + path, Summary: summary, Description: description,
		Tags: []string{strings.Split(path, "/")[1]}, MaxBodyBytes: maxBody,
		Responses: map[string]*huma.Response{"default": {
			Description: "Something else than what was asked for",
			Content: map[string]*huma.MediaType{
				problemJSON: {Schema: registry.Schema(problemType, true, "Problem")},
			},
		}},
	}, func(ctx context.Context, in *I) (*O, error) {
		out, err := do(ctx, in)
		if err != nil {
			return nil, explain(err)
		}
		return out, nil
	})
}

// A body is an answer.
type body[T any] struct{ Body T }

func answer[T any](v T) *body[T] { return &body[T]{Body: v} }
