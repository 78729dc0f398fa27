package page_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/page"
)

// The files contain nothing that the content security policy blocks, and never parse
// text as HTML.
func TestThePageIsSelfContained(t *testing.T) {
	forbidden := map[string]*regexp.Regexp{
		"another host":     regexp.MustCompile(`(?i)(?:src|href|url\(|import|fetch\()[^\n]{0,8}["'(]https?://`),
		"inline script":    regexp.MustCompile(`(?i)<script>|\son[a-z]+="|javascript:`),
		"inline style":     regexp.MustCompile(`(?i)<style|\sstyle="|setAttribute\('style'`),
		"text as elements": regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function`),
	}
	files := os.DirFS("web")
	n := 0
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		text, err := fs.ReadFile(files, path)
		for what, pattern := range forbidden {
			if found := pattern.Find(text); found != nil {
				t.Errorf("%s has %s: %s", path, what, found)
			}
		}
		return err
	})
	if err != nil || n < 8 {
		t.Errorf("checked %d files, %v; want at least 8", n, err)
	}
}

func TestHandler(t *testing.T) {
	h := page.Handler()
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	for path, kind := range map[string]string{
		"/": "text/html; charset=utf-8", "/demo/assets/app.js": "text/javascript; charset=utf-8",
		"/demo/assets/page.css": "text/css; charset=utf-8", "/demo/assets/icon.svg": "image/svg+xml",
	} {
		w := get(path)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != kind || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: got %d with header %v, want 200, %s and nosniff", path, w.Code, w.Header(), kind)
		}
	}
	for _, path := range []string{"/demo/assets/../page.go", "/demo/assets/none.js"} {
		if w := get(path); w.Code == http.StatusOK && !strings.Contains(w.Body.String(), "<html") {
			t.Errorf("%s is served:\n%s", path, w.Body)
		}
	}
	// Every imported module exists.
	for _, m := range regexp.MustCompile(`from '\./([a-z0-9]+\.js)'`).FindAllStringSubmatch(get("/demo/assets/app.js").Body.String(), -1) {
		if w := get("/demo/assets/" + m[1]); w.Code != http.StatusOK {
			t.Errorf("the module %s: got %d, want 200", m[1], w.Code)
		}
	}
}
