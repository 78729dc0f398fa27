package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/rule"
)

// raw sends bytes to the gateway, and returns the statuses of the responses.
func (s *site) raw(text string) []int { return s.sendBytes(text, false) }

// sendBytes is raw that, with closeWrite, also closes the sending side of the connection.
func (s *site) sendBytes(text string, closeWrite bool) (statuses []int) {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.front.Listener.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	io.WriteString(conn, text)
	if closeWrite {
		conn.(*net.TCPConn).CloseWrite()
	}
	in := bufio.NewReader(conn)
	for {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return statuses
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		statuses = append(statuses, resp.StatusCode)
		conn.(*net.TCPConn).CloseWrite()
	}
}

// A recordingUpstream records its requests.
type recordingUpstream struct {
	mu   sync.Mutex
	seen []*http.Request
	body []string
}

func (w *recordingUpstream) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen, w.body = append(w.seen, r), append(w.body, string(body))
	if r.URL.Path == "/moved" {
		http.Redirect(rw, r, "http://127.0.0.1:1/", http.StatusFound)
	}
}

func (w *recordingUpstream) last() *http.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seen) == 0 {
		return nil
	}
	return w.seen[len(w.seen)-1]
}

// No framing of requests bypasses the rules.
func TestSmuggling(t *testing.T) {
	const head = "Host: shop\r\nX-User: ann\r\nIdempotency-Key: k\r\n"
	for _, c := range []struct {
		name, text string
		status     int    // the status of the first response
		body       string // the body that the upstream gets, if any
	}{
		{"two lengths", "POST /orders HTTP/1.1\r\n" + head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400, ""},
		{"a length and chunks", "POST /orders HTTP/1.1\r\n" + head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", 200, "a"},
		{"two transfer codings", "POST /orders HTTP/1.1\r\n" + head + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 501, ""},
		{"an unknown transfer coding", "POST /orders HTTP/1.1\r\n" + head + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501, ""},
		{"a space before the colon", "POST /orders HTTP/1.1\r\n" + head + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400, ""},
		{"a NUL", "POST /orders HTTP/1.1\r\n" + head + "X: a\x00b\r\n\r\n", 400, ""},
		{"a folded line", "POST /orders HTTP/1.1\r\n" + head + "X: a\r\n b\r\nContent-Length: 0\r\n\r\n", 200, ""},
		{"a line without a colon", "POST /orders HTTP/1.1\r\n" + head + "X\r\n\r\n", 400, ""},
		{"a negative length", "POST /orders HTTP/1.1\r\n" + head + "Content-Length: -1\r\n\r\n", 400, ""},
		{"a length with a sign", "POST /orders HTTP/1.1\r\n" + head + "Content-Length: +1\r\n\r\na", 400, ""},
		{"two hosts", "POST /orders HTTP/1.1\r\nHost: other\r\n" + head + "Content-Length: 0\r\n\r\n", 400, ""},
		{"no host", "POST /orders HTTP/1.1\r\nIdempotency-Key: k\r\n\r\n", 400, ""},
		{"a chunk without a size", "POST /orders HTTP/1.1\r\n" + head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, ""},
		{"a body that breaks off", "POST /orders HTTP/1.1\r\n" + head + "Content-Length: 10\r\n\r\nabc", 400, ""},
		{"CONNECT", "CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1:22\r\n\r\n", 400, ""},
		{"OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: shop\r\n\r\n", 400, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &recordingUpstream{}
			s := open(t, withRules(orders()), w)
			got := s.sendBytes(c.text, c.name == "a body that breaks off")
			if len(got) != 1 || got[0] != c.status {
				t.Fatalf("the statuses are %v, want %d", got, c.status)
			}
			if passed := w.last() != nil; passed != (c.status == 200) {
				t.Fatalf("the request reached the upstream: %v, want %v", passed, c.status == 200)
			}
			if c.status == 200 && w.body[0] != c.body {
				t.Errorf("the upstream got %q, want %q", w.body[0], c.body)
			}
		})
	}
}

// A request that matches one rule must not reach the action of a later rule: by a method
// override, or by a path that Tomcat reads without parameters.
func TestOneRuleDoesNotBypassALaterOne(t *testing.T) {
	once := func(match, name string) config.Rule {
		return on(match, rule.Once, "{header.Idempotency-Key}", guard.Policy{Name: name})
	}
	s := open(t, withRules(once("POST /files/{rest...}", "file"), once("POST /orders/{id}", "change"), once("POST /special.json", "json"),
		once("DELETE /orders/{id}", "cancel"), once("POST /pay", "pay"), once("POST /special", "special"), once("PUT /files/{rest...}", "put")), nil)
	override := field("X-HTTP-Method-Override", "DELETE")
	for i, c := range []struct {
		method, path string
		change       edit
		refused      bool
	}{
		{"POST", "/files/..;/pay", nil, true},
		{"POST", "/files/x/..;a=b/..;/pay", nil, true},
		{"POST", "/files/..%253b/pay", nil, true},
		{"POST", "/orders/7", override, true},
		{"POST", "/orders/7?_method=delete", nil, true},
		{"POST", "/files/a;b.txt", nil, false},
		{"POST", "/files/100%2525", nil, false},
		{"POST", "/files/x", override, false}, // no rule is for DELETE
		{"POST", "/orders/7", field("X-HTTP-Method-Override", "POST"), false},
		{"POST", "/special.json", nil, false}, // the file lists this path itself
		{"DELETE", "/orders/7", nil, false},
	} {
		changes := []edit{key(fmt.Sprint("k", i))}
		if c.change != nil {
			changes = append(changes, c.change)
		}
		got := s.send(c.method, c.path, "x", changes...)
		if refused := got.code() == interlockhttp.RequestAmbiguous; refused != c.refused || !refused && got.StatusCode != http.StatusCreated {
			t.Errorf("%s %s gets %v; want it refused: %v", c.method, c.path, got, c.refused)
		}
	}
}

// A request with two values of a field must not choose the rule with one and the action with
// the other.
func TestTwoValuesDoNotChooseTheRule(t *testing.T) {
	kind := func(value string) config.Rule {
		r := on("POST /pay", rule.Once, "{header.Idempotency-Key}", guard.Policy{Name: value})
		r.Match.Header = map[string]string{"X-Kind": value}
		return r
	}
	s := open(t, withRules(kind("card"), kind("bank")), nil)
	send := func(k string, kinds ...string) answer {
		return s.send("POST", "/pay", "x", key(k), func(r *http.Request) { r.Header["X-Kind"] = kinds })
	}
	if got := send("k1", "card", "bank"); got.code() != interlockhttp.RequestAmbiguous {
		t.Errorf("a request with both kinds gets %v, want request_ambiguous", got)
	}
	for i, kinds := range [][]string{{"card"}, {"bank"}, {"card", "card"}} {
		if got := send(fmt.Sprint("other", i), kinds...); got.StatusCode != http.StatusCreated {
			t.Errorf("a request with %q gets %v, want 201", kinds, got)
		}
	}
}

// No spelling of a path bypasses a rule. A path that no rule covers is passed on
// unchanged.
func TestPathsDoNotBypassRules(t *testing.T) {
	paid := on("POST /orders/{id}/pay", rule.Once, "{header.Idempotency-Key}", guard.Policy{Name: "pay"})
	files := on("POST /files/{rest...}", rule.Once, "{header.Idempotency-Key}", guard.Policy{Name: "file"})
	host := on("POST /", rule.Once, "{header.Idempotency-Key}", guard.Policy{Name: "host"})
	host.Match.Host = "*.pay.example"
	puts := on("PUT /put", rule.Once, "{header.Idempotency-Key}", guard.Policy{Name: "put"})
	both := on("POST /both", rule.Once, "{header.Idempotency-Key}", guard.Policy{Name: "both"})
	both2 := on("POST /both/", rule.Once, "{header.Idempotency-Key}", guard.Policy{Name: "both2"})
	api := on("POST /v2", rule.Once, "{header.Idempotency-Key}", guard.Policy{Name: "api"})
	api.Match.Header = map[string]string{"X-Api": "v2"}
	six := on("POST /six", rule.Once, "{header.Idempotency-Key}", guard.Policy{Name: "six"})
	six.Match.Host = "[::1]"
	const guarded, refused, free = "guarded", "refused", "free"
	for _, c := range []struct{ line, host, header, want string }{
		{"POST /orders", "", "", guarded},
		{"POST /%6frders", "", "", guarded},
		{"POST /orders?x=1", "", "", guarded},
		{"POST http://evil.example/orders", "", "", guarded},
		{"POST http://evil.example:99/orders/7/pay", "", "", guarded},
		{"POST /orders/7/pay", "", "", guarded},
		{"POST /orders/7%208/pay", "", "", guarded},
		{"POST /orders/%E4%BD%A0/pay", "", "", guarded},
		{"POST /files/a/b", "", "", guarded},
		{"POST /files/", "", "", guarded},
		{"POST /both", "", "", guarded},
		{"POST /both/", "", "", guarded},
		{"POST /both/x", "", "", guarded},
		{"POST /x", "a.pay.example", "", guarded},
		{"POST /x", "A.B.PAY.example.:80", "", guarded},
		{"POST //orders", "", "", refused},
		{"POST /./orders", "", "", refused},
		{"POST /x/../orders", "", "", refused},
		{"POST /x/%2e%2e/orders", "", "", refused},
		{"POST /x/%2E./orders", "", "", refused},
		{"POST /x/%252e%252e/orders", "", "", refused},
		{"POST /%2forders", "", "", refused},
		{"POST /orders%2f", "", "", refused},
		{"POST /orders/", "", "", refused},
		{"POST /orders/.", "", "", refused},
		{"POST /orders%00", "", "", refused},
		{"POST /orders%00.png", "", "", refused},
		{"POST /orders%20", "", "", refused},
		{"POST /Orders", "", "", refused},
		{"POST /orders;jsessionid=1", "", "", refused},
		{"POST /orders;/", "", "", refused},
		{`POST /\orders`, "", "", refused},
		{"POST /x/..%5corders", "", "", refused},
		{"POST /orders/7%2f8/pay", "", "", refused},
		{"POST /orders/7//pay", "", "", refused},
		{"POST /files/../orders", "", "", refused},
		{"POST /files/a//b", "", "", refused},
		{"POST /files/a%2fb", "", "", refused},
		{"POST /%256frders", "", "", refused},
		{"post /orders", "", "", refused},
		{"GET /orders", "", "X-HTTP-Method-Override: POST\r\n", refused},
		{"POST /put", "", "X-HTTP-Method-Override: put\r\n", refused},
		{"POST /x//y", "a.pay.example", "", guarded}, // the rule is for every path
		{"POST /orders.json", "", "", refused},       // Rails
		{"POST /orders.xml/", "", "", refused},
		{"POST /orders/7/pay.zzz", "", "", refused},
		{"POST /orders%2ejson", "", "", refused},
		{"POST /orders.x-y", "", "", refused}, // Rails accepts any characters but dots and slashes
		{"POST /orders.%E4%BD%A0", "", "", refused},
		{"POST /orders.longer-than-any-known-format", "", "", refused},
		{"POST /orders.tar.gz", "", "", refused}, // Spring
		{"POST /orders.", "", "", refused},       // Windows
		{"POST /orders..json", "", "", refused},
		{"POST /index.php/orders", "", "", refused}, // a front controller of PHP
		{"POST /shop/INDEX.PHP/../../app.py/orders", "", "", refused},
		{"POST /orders.a_b", "", "", refused}, // Rails takes any extension
		{"POST /orders.json%20x", "", "", refused},
		{"POST /orders.an-extension-longer-than-others", "", "", refused},
		{"POST /orders.tar.gz", "", "", refused},  // Sinatra
		{"POST //x/orders", "", "", refused},      // PHP's parse_url reads x as a host
		{"POST //u@x:80/orders", "", "", refused}, // so does Node.js
		{"POST ///x/orders.json", "", "", refused},
		{`POST /\x/orders`, "", "", refused},
		{"POST http://evil.example//x/orders", "", "", refused},
		{"POST /orders.php/x", "", "", refused}, // PHP passes the rest to the script
		{"POST /a/../orders.php/x/y.css", "", "", refused},
		{"POST /orders/7/pay.php/x/y", "", "", refused},
		{"POST /(S(abc))/orders", "", "", refused}, // ASP.NET
		{"POST /(A(1)F(2))/index.php/orders.json", "", "", refused},
		{"GET /orders.json", "", "X-HTTP-Method-Override: POST\r\n", refused},
		{"POST /orders/x//../7/pay", "", "", refused}, // browsers and Node.js count the empty part
		{"POST /a//../../orders", "", "", refused},
		{"POST /orders//../7/pay", "", "", refused},
		{"POST /x/../files/..;/y", "", "", refused}, // some upstreams read ..; as a name, others as ..
		{`POST /x/../files/..\y`, "", "", refused},
		{"POST /x/%2e%2e/files/%252e%252e", "", "", refused},
		{"POST /x/../files/%00/../../y", "", "", refused},
		{"POST //files/../y", "", "", refused},
		{"POST /orders%3Fx", "", "", refused},
		{"POST /orders%23x", "", "", refused},
		{"GET /orders", "", "X_HTTP_Method_Override: POST\r\n", refused},
		{"POST /put?_method=put", "", "", refused},
		{"POST /put?a=1&_METHOD=PUT;b", "", "", refused},
		{"POST /v2", "", "X-Api: v2\r\n", guarded},
		{"POST /v2", "", "X-Api: v1\r\nX-Api: v2\r\n", guarded},
		{"POST /v2", "", "X_Api: v2\r\n", refused},
		{"POST /v2", "", "X-Api: V2\r\n", refused},
		{"POST /v2", "", "X-Api: v1, v2\r\n", refused},
		{"POST /v2", "", "X-Api: v1\r\n", free},
		{"POST /v2", "", "", free},
		{"POST /six", "[::1]", "", guarded},
		{"POST /six", "[::1]:8080", "", guarded},
		{"POST /x?_method=PATCH", "", "", free},
		{"GET /orders", "", "", free},
		{"GET //orders", "", "", free},
		{"GET /orders.css", "", "", free},
		{"POST /orders.json/7", "", "", free},
		{"POST /.orders.x", "", "", free},
		{"POST /x.orders", "", "", free},
		{"POST /index.php", "", "", free},
		{"POST /x.php/y", "", "", free},
		{"POST //x/y", "", "", free},
		{"POST /x/orders", "", "", free},
		{"POST /(S(abc))", "", "", free},
		{"POST /orders/7", "", "", free},
		{"POST /orders/7/pay/x", "", "", free},
		{"POST /a//b/../c%2Fd", "", "", free},
		{"POST /ordersx", "", "", free},
		{"POST /x", "pay.example", "", free},
		{"POST /x", "evilpay.example", "", free},
	} {
		t.Run(c.line+" "+c.host, func(t *testing.T) {
			w := &recordingUpstream{}
			s := open(t, withRules(orders(), paid, files, host, puts, both, both2, api, six), w)
			if c.host == "" {
				c.host = "shop"
			}
			// The request has no key, so a guarded request is refused with the code key_missing.
			got := s.raw(c.line + " HTTP/1.1\r\nHost: " + c.host + "\r\nX-User: ann\r\n" + c.header + "Content-Length: 0\r\n\r\n")
			outcome := fmt.Sprint(got)
			switch {
			case w.last() != nil:
				outcome = free
				if _, target, _ := strings.Cut(c.line, " "); w.last().RequestURI != target {
					t.Errorf("the upstream gets %q, want %q", w.last().RequestURI, target)
				}
			case len(got) == 1 && got[0] == http.StatusBadRequest:
				outcome = refused
				select {
				case e := <-s.events:
					if e.Code == "key_missing" {
						outcome = guarded
					}
				default:
				}
			}
			if outcome != c.want {
				t.Errorf("the outcome is %s, want %s", outcome, c.want)
			}
		})
	}
}

// Only a trusted proxy may set fields about proxies and users. No client may set a fence or
// another field of Interlock.
func TestFields(t *testing.T) {
	w := &recordingUpstream{}
	lock := on("POST /orders", rule.Lock, "order", guard.Policy{Name: "order"})
	cfg := withRules(lock)
	s := open(t, cfg, w)
	forged := []edit{
		field("X-Forwarded-For", "6.6.6.6"), field("X-Forwarded-Host", "evil"), field("X-Forwarded-Proto", "gopher"), field("Forwarded", "for=6.6.6.6"),
		field("X-Real-Ip", "6.6.6.6"), field("X-Forwarded-Port", "666"), field("Interlock-Fence", "999"), field("Interlock_Fence", "999"), field("X_User", "root"),
		field("X-Original-URL", "/orders"), field("X-Rewrite-Url", "/orders"), field("X_Forwarded_For", "6.6.6.6"), field("Interlock-Unguarded", "true"), field("Interlock-Lease", "999h"), field("Interlock-Wait", "-1s"), field("X-Other", "stays"),
		field("SCRIPT_NAME", "/orders"), field("Path-Info", "/orders"), field("PATH_INFO", "/orders"), field("X-Script-Name", "/orders"), field("x.script_name", "/orders"), field("X.User", "root"),
	}
	removed := []string{"X.user", "Interlock-Unguarded", "Interlock-Lease", "Interlock-Wait", "Interlock_fence", "X_user", "X_forwarded_for"}
	t.Run("from a trusted proxy", func(t *testing.T) {
		s.send("POST", "/orders", "x", append(forged, field("Idempotency_Key", "other"))...)
		h := w.last().Header
		if h["Idempotency_key"] != nil {
			t.Error("a field that the upstream may read as the key is passed on")
		}
		for name, want := range map[string]string{
			"X-Forwarded-For": "6.6.6.6, 127.0.0.1", "X-Forwarded-Host": "evil", "X-Forwarded-Proto": "gopher", "Forwarded": "for=6.6.6.6", "X-Real-Ip": "6.6.6.6",
			"X-Original-Url": "/orders", "X-User": "ann", "X-Other": "stays",
		} {
			if got := strings.Join(h[name], "|"); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if fence := h["Interlock-Fence"]; len(fence) != 1 || fence[0] == "999" {
			t.Errorf("Interlock-Fence is %q, want the fence of the lock", fence)
		}
		for _, name := range removed {
			if h[name] != nil {
				t.Errorf("the upstream gets %s: %q, want it removed", name, h[name])
			}
		}
	})
	t.Run("from other clients", func(t *testing.T) {
		cfg := *cfg
		cfg.Trusted = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		if err := s.gateway.Reload(&cfg); err != nil {
			t.Fatal(err)
		}
		before := len(w.seen)
		if got := s.send("POST", "/orders", "x", forged...); got.StatusCode != http.StatusUnauthorized || len(w.seen) != before {
			t.Errorf("a guarded path answers %v, want 401 and no request to the upstream", got)
		}
		s.send("POST", "/free", "x", forged...)
		h := w.last().Header
		host := strings.TrimPrefix(s.front.URL, "http://")
		for name, want := range map[string]string{
			"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": host, "X-Forwarded-Proto": "http", "Forwarded": "", "X-Real-Ip": "", "X-Forwarded-Port": "",
			"Interlock-Fence": "", "X-User": "", "X-Original-Url": "", "X-Rewrite-Url": "", "X-Other": "stays",
			"Script_name": "", "Path-Info": "", "Path_info": "", "X-Script-Name": "", "X.script_name": "",
		} {
			if got := strings.Join(h[name], "|"); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		for _, name := range removed {
			if h[name] != nil {
				t.Errorf("the upstream gets %s: %q, want it removed", name, h[name])
			}
		}
	})
}

// Without a matching rule, every path passes byte for byte. A rule for every path guards
// all of them.
func TestIrregularPathsPassARuleForEveryPath(t *testing.T) {
	r := on("POST,PATCH /", rule.Once, "{header.Idempotency-Key|X-Idempotency-Key|Idempotent-Token}", guard.Policy{Name: "requests"})
	r.Optional = true
	w := &recordingUpstream{}
	s := open(t, withRules(r), w)
	for _, line := range []string{"GET /%2F/", "POST /%2F/", "PUT /a/group%2Fproject", "POST /a/group%2Fproject", "POST //x", "POST /a/../b", "POST /a.json"} {
		before := len(w.seen)
		got := s.raw(line + " HTTP/1.1\r\nHost: shop\r\nX-User: ann\r\nContent-Length: 0\r\n\r\n")
		if _, target, _ := strings.Cut(line, " "); len(got) != 1 || got[0] != http.StatusOK || len(w.seen) != before+1 || w.last().RequestURI != target {
			t.Errorf("%s gets %v, want 200 and the same path at the upstream", line, got)
		}
	}
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key", "Idempotent-Token"} {
		before := len(w.seen)
		first := s.send("POST", "//x", "1", field(name, "key-"+name))
		again := s.send("POST", "//x", "1", field(name, "key-"+name))
		if first.StatusCode != http.StatusOK || again.Header.Get("Idempotent-Replayed") != "true" || len(w.seen) != before+1 {
			t.Errorf("%s: the first request gets %v and a repeat gets %v, want 200 and a replay", name, first, again)
		}
	}
}

// A rule matches its further paths as well, and requests to all of them share keys.
func TestFurtherPathsOfARule(t *testing.T) {
	pay := on("POST /orders/{id}/pay", rule.Once, "{path.id:int}", guard.Policy{Name: "pay"})
	pay.Match.Also = []string{"/orders/{id}/pay.json", "/index.php/orders/{id}/pay"}
	w := &recordingUpstream{}
	s := open(t, withRules(pay), w)
	for i, path := range []string{"/orders/7/pay", "/orders/7/pay.json", "/index.php/orders/7/pay", "/orders/007/pay"} {
		got := s.send("POST", path, "")
		if e := s.event(); e.Key != recordID(t, "pay", "7") || len(w.seen) != 1 {
			t.Errorf("request %d, to %s, gets %v with the event %+v; want the key of order 7, and one run", i, path, got, e)
		}
	}
	if got := s.send("POST", "/orders/x7/pay", ""); got.code() != interlockhttp.KeyInvalid {
		t.Errorf("a path with an id that is not a number gets %v, want key_invalid", got)
	}
}

// The Content-Type decides how the upstream reads a body, and so where the key is.
func TestABodyIsReadByItsContentType(t *testing.T) {
	pay := on("POST /pay", rule.Lock, "{body.order}", guard.Policy{Name: "pay"})
	const both = `{"order":"1","x":"&order=2&"}` // JSON with order 1, and a form with order 2
	s := open(t, withRules(pay), nil)
	for media, want := range map[string]string{
		"application/json": "pay:1", "application/vnd.shop+json; charset=utf-8": "pay:1", "application/x-www-form-urlencoded": "pay:2", "text/plain": "", "": "", "application/jsonx": "",
	} {
		got := s.send("POST", "/pay", both, field("Content-Type", media))
		if e := s.event(); e.Key != want || (want == "") != (got.code() == interlockhttp.KeyMissing) {
			t.Errorf("the type %q gets %v with the key %q, want the key %q", media, got, e.Key, want)
		}
	}
	// Some upstreams read the first of two types, others the last one.
	got := s.send("POST", "/pay", both, func(r *http.Request) {
		r.Header["Content-Type"] = []string{"application/json", "application/x-www-form-urlencoded"}
	})
	if e := s.event(); e.Key != "" || got.code() != interlockhttp.KeyInvalid {
		t.Errorf("a request with two types gets %v with the key %q, want key_invalid", got, e.Key)
	}
}

// Neither a request nor a response chooses the upstream.
func TestRequestsDoNotChooseTheUpstream(t *testing.T) {
	w := &recordingUpstream{}
	cfg := withRules()
	s := open(t, cfg, w)
	for _, text := range []string{
		"GET http://127.0.0.1:1/a HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n",
		"GET /a HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n",
		"GET //127.0.0.1:1/a HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://127.0.0.1:1@evil/a HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		before := len(w.seen)
		if got := s.raw(text); len(got) != 1 || got[0] != http.StatusOK || len(w.seen) != before+1 {
			t.Errorf("%q gets %v, want one 200 from the configured upstream", text, got)
		}
	}
	got := s.send("GET", "/moved", "")
	if got.StatusCode != http.StatusFound || got.Header.Get("Location") != "http://127.0.0.1:1/" {
		t.Errorf("the client gets %v, want the upstream's redirect", got)
	}
	if via := w.last().Header.Get("Via"); !strings.HasPrefix(via, "1.1 interlock-") {
		t.Errorf("Via is %q, want 1.1 interlock-…", via)
	}
}

// A request that passes the same gateway twice, or too many gateways, is refused.
func TestALoop(t *testing.T) {
	s := open(t, withRules(), nil)
	var rounds atomic.Int64
	s.front.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rounds.Add(1)
		s.gateway.ServeHTTP(w, r)
	})
	loop := *s.gateway.Config()
	loop.Upstream = config.Upstream{To: []*url.URL{parse(t, s.front.URL)}}
	if err := s.gateway.Reload(&loop); err != nil {
		t.Fatal(err)
	}
	if got := s.send("GET", "/", ""); got.StatusCode != http.StatusLoopDetected || got.code() != "loop_detected" || rounds.Load() != 2 {
		t.Errorf("a looping request gets %v after %d rounds, want 508 after 2", got, rounds.Load())
	}
	if err := s.gateway.Reload(configFor(t, s)); err != nil {
		t.Fatal(err)
	}
	via := strings.Repeat("1.1 interlock-x, ", 8)
	if got := s.send("GET", "/", "", field("Via", via)); got.StatusCode != http.StatusLoopDetected {
		t.Errorf("a request that passed eight other gateways gets %v, want 508", got)
	}
	if got := s.send("GET", "/", "", field("Via", "1.1 nginx, 2 interlock-x")); got.StatusCode != http.StatusCreated {
		t.Errorf("a request that passed one other gateway gets %v, want 201", got)
	}
}

// configFor returns a configuration with rules and with the upstream of a site.
func configFor(t *testing.T, s *site, rules ...config.Rule) *config.Config {
	cfg := withRules(rules...)
	cfg.Upstream.To = []*url.URL{parse(t, s.service.URL)}
	return cfg
}
