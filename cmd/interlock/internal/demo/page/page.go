// Package page contains the demo's web page: plain HTML, CSS and JavaScript modules,
// without a build step and without external resources.
package page

import (
	"bytes"
	"embed"
	"io/fs"
	"net/http"
	"strings"
)

//go:embed web
var files embed.FS

// policy allows the page's own files only: no inline script or style, no other host, and
// no embedding in a frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves the page under any path, and its files under /demo/assets/.
func Handler() http.Handler {
	web, err := fs.Sub(files, "web")
	if err != nil {
		panic(err) // the files are embedded
	}
	index, err := fs.ReadFile(web, "index.html")
	if err != nil {
		panic(err)
	}
	chinese := bytes.Replace(index, []byte(`lang="en"`), []byte(`lang="zh-CN"`), 1)
	assets := http.StripPrefix("/demo/assets/", http.FileServerFS(web))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-cache") // files change with the program's version
		if strings.HasPrefix(r.URL.Path, "/demo/assets/") {
			assets.ServeHTTP(w, r)
			return
		}
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Vary", "Accept-Language") // for caches: one URL has two languages
		if prefersChinese(r.Header.Get("Accept-Language")) {
			_, _ = w.Write(chinese)
			return
		}
		_, _ = w.Write(index)
	})
}

// prefersChinese checks the first entry: browsers order the list by preference.
func prefersChinese(accept string) bool {
	first, _, _ := strings.Cut(accept, ",")
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(first)), "zh")
}
