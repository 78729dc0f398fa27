package gateway

import (
	"math/rand/v2"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/rule"
)

// readers read a path as known upstreams do. They share no code with package gateway.
var readers = map[string]func(string) string{
	"decodes, and then cleans, as nginx and Go do": func(p string) string {
		p, _ = url.PathUnescape(p)
		return path.Clean("/" + p)
	},
	"resolves dots, and then decodes, as browsers and Node.js do": func(p string) string {
		p = strings.ReplaceAll(p, `\`, "/")
		var out []string
		for part := range strings.SplitSeq(strings.TrimPrefix(p, "/"), "/") {
			switch dots := strings.ReplaceAll(strings.ToLower(part), "%2e", "."); dots {
			case ".":
			case "..":
				out = out[:max(0, len(out)-1)]
			default:
				out = append(out, part)
			}
		}
		p, _ = url.PathUnescape("/" + strings.Join(out, "/"))
		return p
	},
	"removes parameters, and then decodes and cleans, as Tomcat does": func(p string) string {
		parts := strings.Split(p, "/")
		for i, s := range parts {
			parts[i], _, _ = strings.Cut(s, ";")
		}
		p, _ = url.PathUnescape(strings.Join(parts, "/"))
		return path.Clean("/" + strings.ReplaceAll(p, `\`, "/"))
	},
	"decodes twice": func(p string) string {
		p, _ = url.PathUnescape(p)
		if again, err := url.PathUnescape(p); err == nil {
			p = again
		}
		return path.Clean("/" + p)
	},
	"runs a script, as PHP does, and removes an extension, as Rails does": func(p string) string {
		p, _ = url.PathUnescape(p)
		p = path.Clean("/" + p)
		if _, rest, ok := strings.Cut(p, "/index.php/"); ok {
			p = "/" + rest
		}
		return strings.TrimSuffix(p, ".json")
	},
	"reads what follows two slashes as a host, as parse_url of PHP does": func(p string) string {
		if u, err := url.Parse(p); err == nil && strings.HasPrefix(p, "//") {
			return u.Path
		}
		p, _ = url.PathUnescape(p)
		return p
	},
	"passes the rest of the path to a script, as PHP does": func(p string) string {
		p, _ = url.PathUnescape(p)
		p, _, _ = strings.Cut(path.Clean("/"+p), ".php")
		return p
	},
	"takes any extension, as Rails does": func(p string) string {
		p, _ = url.PathUnescape(p)
		p = path.Clean("/" + p)
		if i := strings.LastIndexByte(p, '.'); i > strings.LastIndexByte(p, '/')+1 && i < len(p)-1 {
			p = p[:i]
		}
		return p
	},
	"merges slashes, and nothing else": func(p string) string {
		p, _ = url.PathUnescape(p)
		for strings.Contains(p, "//") {
			p = strings.ReplaceAll(p, "//", "/")
		}
		return p
	},
}

// The gateway never passes on a path that one of the readers reads as a guarded path,
// whatever dots, slashes and escapes it contains.
func TestNoReaderBypassesARule(t *testing.T) {
	s := &snapshot{}
	for _, text := range []string{"/orders", "/orders/{id}/pay", "/files/{rest...}"} {
		m, err := newMatcher(config.Match{Methods: []string{"POST"}, Path: text}, rule.Once)
		if err != nil {
			t.Fatal(err)
		}
		s.rules = append(s.rules, &ruleHandler{matcher: m})
	}
	guarded := func(path string) bool {
		segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
		for _, h := range s.rules {
			if h.path.match(segments, exactly) {
				return true
			}
		}
		return false
	}
	pieces := []string{"/", "/", "/", "orders", "7", "pay", "files", "x", "..", ".", "%2e", "%2f", "%252e%252e", "%5c", `\`, ";", ";a", "%25", "%252f", "..;", ".json", ".a_b", "/index.php/", ".php/", "//x/"}
	source := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same every time
	bypasses := 0
	for range 10_000 {
		var b strings.Builder
		b.WriteString("/")
		for range 1 + source.IntN(12) {
			b.WriteString(pieces[source.IntN(len(pieces))])
		}
		r := &http.Request{Method: http.MethodPost, Host: "shop", Header: http.Header{}}
		var err error
		if r.URL, err = url.ParseRequestURI(b.String()); err != nil {
			continue
		}
		rules, _, err := s.find(r)
		if err != nil || len(rules) > 0 {
			continue
		}
		for name, read := range readers {
			if sent := r.URL.EscapedPath(); guarded(read(sent)) {
				t.Errorf("%q passes, and an upstream that %s reads %q", sent, name, read(sent))
				if bypasses++; bypasses > 10 {
					t.FailNow()
				}
			}
		}
	}
}

// TestReadingsAreBounded checks that a short path cannot cost much time: each reading is
// rewritten in a dozen ways and compared with every rule.
func TestReadingsAreBounded(t *testing.T) {
	for path, ok := range map[string]bool{
		"/orders/7": true,
		"/files/My%20Report%20(1).v2.final.pdf;v=1":                                 true,
		"/a%2Fb/c%252Fd/../e./x.php/y;z=1":                                          true,
		"/(S(x))/(S(x))//%5c/%252e%252e/(S(x))/a./x%253bq/a.php/%2500/../a;b":       false,
		"/(S(x))/%2e/b%2fc/../%20d%20/%255c/a./%5c//%255c/%20d%20/%25252e/c%3f/%2e": false,
		"/" + strings.Repeat("a", 12<<10) + ".json":                                 true,
	} {
		texts, err := rewriteAll(path)
		if (err == nil) != ok || len(texts) > maxTexts {
			t.Errorf("%.80s has %d readings, %v; want at most %d, and accepted: %v", path, len(texts), err, maxTexts, ok)
		}
	}
}
