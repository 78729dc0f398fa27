package interlockhttp

import (
	"net/http"
	"strings"
)

// malformed tells whether no server will ever see the request, as it is.
func malformed(req *http.Request) bool {
	if req.URL == nil || req.URL.Host == "" || req.URL.Scheme != "http" && req.URL.Scheme != "https" || !isToken(req.Method) {
		return true
	}
	for name, values := range req.Header {
		if !isToken(name) {
			return true
		}
		for _, v := range values {
			if strings.ContainsFunc(v, isControl) {
				return true
			}
		}
	}
	return false
}

func isControl(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }

// isToken tells whether s can be the name of a method or a field: RFC 9110, section
// 5.6.2.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}
