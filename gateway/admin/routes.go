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

// version is the version of the API, not of the program.
const version = "1.0.0"

// maxBody bounds the body of a request, in bytes. Requests are short: a reason, a result.
const maxBody = 64 << 10

// about is the description in the OpenAPI document, in Markdown.
const about = `Locks, claims, rules and events of Interlock.

Clients send a token (` + "`Authorization: Bearer …`" + `) or a session cookie. Only an API that is open, for demos, serves clients on
the loopback interface without either. GET changes nothing. A change needs the role operate and a reason, and is recorded in the audit log.

Keys may contain any bytes: escape them before you print them. In a path they are percent-encoded, slashes included. With
` + "`?encoding=base64url`" + ` the key in the path is base64url instead; use it for the keys ., .. and /, which proxies and
clients take for directories.`

// build registers all operations, and renders the OpenAPI document.
func (s *Server) build() error {
	c := huma.DefaultConfig("Interlock admin API", version)
	c.Info.Description = about
	c.CreateHooks = nil // no $schema in responses
	// huma's own page loads scripts from a CDN, and an admin API must not run foreign
	// scripts.
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "", "", ""
	c.Transformers = []huma.Transformer{translate}
	c.Servers = []*huma.Server{{URL: s.o.Prefix + "/"}}
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token":   {Type: "http", Scheme: "bearer"},
		"session": {Type: "apiKey", In: "cookie", Name: cookieName(true)},
	}
	// The empty entry stands for an API without tokens.
	c.Security = []map[string][]string{{"token": {}}, {"session": {}}, {}}
	s.mux = http.NewServeMux()
	s.api = humago.NewWithPrefix(s.mux, s.o.Prefix, c)
	s.lockRoutes()
	s.claimRoutes()
	s.gatewayRoutes()
	s.logRoutes()
	s.healthRoutes()
	s.standbyRoutes()
	s.eventRoutes()
	s.sessionRoutes()
	for _, unused := range []string{"ErrorModel", "ErrorDetail"} {
		delete(s.api.OpenAPI().Components.Schemas.Map(), unused) // schemas of huma, which Problem replaces
	}
	text, err := json.MarshalIndent(s.api.OpenAPI(), "", "  ")
	if err != nil {
		return fmt.Errorf("admin: the OpenAPI document: %w", err)
	}
	// The document is rendered once: it does not change while the server runs.
	s.document = append(text, '\n')
	s.mux.HandleFunc("GET "+s.o.Prefix+"/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(s.document)
	})
	if s.o.Metrics != nil {
		s.mux.Handle("GET "+s.o.Prefix+"/metrics", s.o.Metrics)
	}
	return nil
}

// Document returns the OpenAPI document.
func (s *Server) Document() []byte { return s.document }

// route registers an operation; at is its method and path, such as "GET /locks".
func route[I, O any](s *Server, id, at, summary, description string, do func(context.Context, *I) (*O, error)) {
	method, path, _ := strings.Cut(at, " ")
	registry := s.api.OpenAPI().Components.Schemas
	huma.Register(s.api, huma.Operation{
		OperationID: id, Method: method, Path: "/api/v1" + path, Summary: summary, Description: description,
		Tags: []string{strings.Split(path, "/")[1]}, MaxBodyBytes: maxBody,
		Responses: map[string]*huma.Response{"default": {
			Description: "An error",
			Content: map[string]*huma.MediaType{
				problemJSON: {Schema: registry.Schema(problemType, true, "Problem")},
			},
		}},
	}, func(ctx context.Context, in *I) (*O, error) {
		// huma would send an unknown error as a 500 without a code.
		out, err := do(ctx, in)
		if err != nil {
			return nil, explain(err)
		}
		return out, nil
	})
}

// A body is a response with a JSON body.
type body[T any] struct{ Body T }

// answer wraps a value in the form that huma encodes.
func answer[T any](v T) *body[T] { return &body[T]{Body: v} }
