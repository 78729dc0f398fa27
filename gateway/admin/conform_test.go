package admin_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlock-go/interlock/gateway/admin"
)

var update = flag.Bool("update", false, "rewrite openapi.json")

// A document is the part of an OpenAPI document that responses are checked against.
type document struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		OperationID string
		Summary     string
		Responses   map[string]struct {
			Content map[string]struct{ Schema json.RawMessage }
		}
	}
	Components struct{ Schemas map[string]json.RawMessage }
}

// documents caches parsed documents with their resolved schemas.
var documents, resolved sync.Map

func documentOf(t *testing.T, api *admin.Server) (d document) {
	t.Helper()
	if known, ok := documents.Load(string(api.Document())); ok {
		return known.(document)
	}
	defer func() { documents.Store(string(api.Document()), d) }()
	if err := json.Unmarshal(bytes.ReplaceAll(api.Document(), []byte("#/components/schemas/"), []byte("#/$defs/")), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// schema returns the schema of an operation's response with a status and media type.
func (d *document) schema(t *testing.T, method, path string, status int, media string) *jsonschema.Resolved {
	t.Helper()
	for template, operations := range d.Paths {
		op, ok := operations[strings.ToLower(method)]
		if !ok || !fits(template, path) {
			continue
		}
		answers, ok := op.Responses[http.StatusText(status)]
		if status == http.StatusOK {
			answers, ok = op.Responses["200"]
		}
		if !ok {
			answers = op.Responses["default"]
		}
		content, ok := answers.Content[media]
		if !ok {
			t.Fatalf("%s %s answers %d with %s, which the document does not have", method, template, status, media)
		}
		return d.resolve(t, content.Schema)
	}
	return nil
}

// resolve parses a schema.
func (d *document) resolve(t *testing.T, text json.RawMessage) *jsonschema.Resolved {
	t.Helper()
	if known, ok := resolved.Load(string(text)); ok {
		return known.(*jsonschema.Resolved)
	}
	whole, err := json.Marshal(map[string]any{"allOf": []json.RawMessage{text}, "$defs": d.Components.Schemas})
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(whole, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	resolved.Store(string(text), r)
	return r
}

// fits reports whether a path matches a template.
func fits(template, path string) bool {
	a, b := strings.Split(template, "/"), strings.Split(path, "/")
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && !strings.HasPrefix(a[i], "{") {
			return false
		}
	}
	return true
}

// conforms checks that a response matches the document and is safe in a browser.
func conforms(t *testing.T, api *admin.Server, method, path string, resp *http.Response, text []byte) {
	t.Helper()
	for name, want := range map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Access-Control-Allow-Origin": ""} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s %s: %s is %q, want %q", method, path, name, got, want)
		}
	}
	if csp := resp.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
		t.Errorf("%s %s: the content security policy is %q, want default-src 'none' without unsafe", method, path, csp)
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if !strings.HasSuffix(media, "json") || method == http.MethodHead {
		return
	}
	d := documentOf(t, api)
	schema := d.schema(t, method, path, resp.StatusCode, media)
	if schema == nil {
		schema = d.resolve(t, json.RawMessage(`{"$ref": "#/$defs/Problem"}`))
		if media != "application/problem+json" {
			return // the document itself, or a health check
		}
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s %s: the response %s is not JSON: %v", method, path, text, err)
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("%s %s answers %d with %s\nwhich does not match the document: %v", method, path, resp.StatusCode, text, err)
	}
}

func TestDocument(t *testing.T) {
	w := open(t)
	t.Run("the committed document is the served one", func(t *testing.T) {
		r := w.get("/openapi.json")
		if *update {
			if err := os.WriteFile("openapi.json", r.text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		committed, err := os.ReadFile("openapi.json")
		if err != nil || !bytes.Equal(committed, r.text) || !bytes.Equal(r.text, w.api.Document()) {
			t.Errorf("openapi.json is out of date (%v): run go test ./admin -run TestDocument -update", err)
		}
	})
	t.Run("the document is OpenAPI 3.1, with a schema and a summary for each operation", func(t *testing.T) {
		d := documentOf(t, w.api)
		if d.OpenAPI != "3.1.0" || len(d.Paths) < 15 {
			t.Fatalf("the document is OpenAPI %s with %d paths, want 3.1.0 with at least 15", d.OpenAPI, len(d.Paths))
		}
		seen := map[string]bool{}
		for path, operations := range d.Paths {
			for method, op := range operations {
				if op.OperationID == "" || seen[op.OperationID] || op.Summary == "" {
					t.Errorf("%s %s has the id %q and the summary %q, want a unique id and a summary", method, path, op.OperationID, op.Summary)
				}
				seen[op.OperationID] = true
				for status, answer := range op.Responses {
					for _, content := range answer.Content {
						d.resolve(t, content.Schema)
					}
					if len(answer.Content) == 0 {
						t.Errorf("%s %s has no schema for %s", method, path, status)
					}
				}
			}
		}
		for name, schema := range d.Components.Schemas {
			d.resolve(t, schema)
			if name == "ErrorModel" {
				t.Error("the document contains huma's error model")
			}
		}
	})
	t.Run("the document contains the prefix", func(t *testing.T) {
		w := open(t, func(o *admin.Options) { o.Prefix = "/admin" })
		if r := w.get("/admin/openapi.json"); r.status != 200 || !bytes.Contains(r.text, []byte(`"url": "/admin/"`)) {
			t.Errorf("the answer is %d %.200s, want 200 and the prefix in the server URL", r.status, r.text)
		}
		var list admin.Locks
		w.get("/admin/api/v1/locks").into(&list)
		w.get("/api/v1/locks").problem(404, admin.NotFound)
		if r := w.get("/admin/livez"); r.status != 200 {
			t.Errorf("/admin/livez answers %d, want 200", r.status)
		}
	})
	t.Run("an invalid prefix is refused", func(t *testing.T) {
		for _, prefix := range []string{"admin", "/admin/", "/{x}", "/"} {
			if _, err := admin.New(admin.Options{Client: w.client, Engine: w.engine, Config: openConfig(), Prefix: prefix}); err == nil {
				t.Errorf("New accepts the prefix %q, want an error", prefix)
			}
		}
	})
}
