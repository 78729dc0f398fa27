package gateway

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A framework is a web framework, and the command of a service that counts orders in a file.
type framework struct {
	name    string
	command func(t *testing.T, address string) *exec.Cmd
}

var frameworks = []framework{
	{"Flask", flaskOrders},
	{"PHP", phpOrders},
	{"Rails", rubyOrders("rails", "railties")},
	{"Sinatra", rubyOrders("sinatra", "sinatra")},
}

// The gateway lets no request without a key become an order, however the framework behind it
// interprets the request. Many of these requests do become orders if they are sent to the
// framework directly.
func TestGatewayFrameworks(t *testing.T) {
	for _, f := range frameworks {
		t.Run(f.name, func(t *testing.T) {
			s := startFramework(t, f)
			gate := proxyTo(t, "http://"+s.address, "--once", "POST /orders=header.Idempotency-Key")
			gate = strings.TrimPrefix(gate, "http://")
			direct, passed, attacks := 0, 0, allAttacks()
			for _, a := range attacks {
				if s.orders(s.address, a) > 0 {
					direct++
				}
				if n := s.orders(gate, a); n > 0 {
					if passed++; passed <= 10 {
						t.Errorf("%d orders without a key passed the gateway, want 0: %q", n, a)
					}
				}
			}
			if n := s.orders(s.address, request("POST /orders", "")); n != 1 || direct == 0 {
				t.Errorf("without the gateway: an ordinary request made %d orders and %d attacks succeeded, want 1 and at least 1", n, direct)
			}
			s.checkOrdinary(gate)
			fmt.Printf("gateway: %s: %d attacks, %d of them succeed without the gateway, %d with it\n", s.version(), len(attacks), direct, passed)
		})
	}
}

// checkOrdinary checks that the gateway passes ordinary requests.
func (s *frameworkServer) checkOrdinary(gate string) {
	s.t.Helper()
	for _, c := range []struct {
		line, fields string
		status       int
		orders       int
	}{
		{"GET /", "", 200, 0},
		{"GET /orders.css", "", 200, 0},
		{"POST /free", "", 200, 0},
		{"POST /free", "X-Script-Name: /x\r\nSCRIPT_NAME: /x\r\n", 200, 0},
		{"POST /orders", "Idempotency-Key: the-first-order-of-a-client\r\n", 201, 1},
		{"POST /orders", "Idempotency-Key: the-first-order-of-a-client\r\n", 201, 0}, // the stored response
		{"POST /orders", "Idempotency-Key: the-second-order-of-a-client\r\n", 201, 1},
		{"POST /orders", "", 400, 0},
	} {
		before := s.count()
		statuses := s.send(gate, request(c.line, c.fields))
		if n := s.count() - before; len(statuses) != 1 || statuses[0] != c.status || n != c.orders {
			s.t.Errorf("%s %q: statuses %v and %d orders, want %d and %d", c.line, c.fields, statuses, n, c.status, c.orders)
		}
	}
}

// allAttacks returns requests without a key. Each tries to reach the handler of orders
// without matching the rule of the gateway.
func allAttacks() (attacks []string) {
	// The path is spelled in another way.
	before := []string{
		"/", "//", "///", "/./", "/x/../", "/x/%2e%2e/", "/%2f", "/%5c", `/\`, "/;x/", "/%20/", "//x/", "///x/", `/\x/`, "//x:80/", "//u@x/", "/(S(x))/",
		"/index.php/", "/INDEX.PHP/", "/index.php//", "/index.php/x/../", "/index%2ephp/", "/x/index.php/", "/app.php/", "/none.php/", "/index.php%2f", "/orders.php/../",
		"http://x/", "http://x//", "http://x//y/", "http:///",
	}
	names := []string{"orders", "ORDERS", "Orders", "%6frders", "%256frders", "order%73", "orders.php"}
	after := []string{
		"", "/", "//", "/.", "/./", "/x/..", "%2f", "%5c", `\`, "%00", "%00.css", "%0a", "%0d", "%09", "%20", "+", ";", ";x=1", "%3b", "%3Fx", "%23x", "#x", "?", "?x=1", "?/x",
		".", "..", "/..;/orders", "%2e", ".json", ".xml", ".zzz", ".a_b", ".a-b", ".a+b", ".a%20b", ".%20", ".%C3%A9", "." + strings.Repeat("z", 17), ".tar.gz", "..json",
		"%2ejson", ".json/", ".json;x", "/.json", ".php", ".php/", ".php/x", ".php/x/y.css", ".php/x/../y", ".PHP", ".php5", ".php%00", ".php%20", ".php.",
		":80", "::$DATA", "~", "*", ",", "&", "=", "!", "'", "()", "%", "%zz", "%u002f", "%c0%af", "%ef%bc%8f",
	}
	for _, a := range after {
		for _, n := range names {
			attacks = append(attacks, request("POST /"+n+a, ""))
		}
		for _, b := range before[1:] {
			attacks = append(attacks, request("POST "+b+"orders"+a, ""))
		}
	}
	// A field of the header replaces the path.
	for _, name := range []string{
		"Script-Name", "SCRIPT_NAME", "Script_Name", "script.name", "X-Script-Name", "X_SCRIPT_NAME", "X.Script.Name", "X~Script~Name", "X-Forwarded-Prefix", "X_Forwarded_Prefix",
	} {
		attacks = append(attacks, request("POST /x/orders", name+": /x\r\n"), request("POST /x/orders", name+": /y\r\n"+name+": /x\r\n"))
	}
	for _, name := range []string{
		"Path-Info", "PATH_INFO", "Path.Info", "X-Path-Info", "X-Original-URL", "X_Original_URL", "X-Rewrite-URL", "X-Original-URI", "X-Forwarded-Uri", "X-Forwarded-Path",
		"Request-Uri", "REQUEST_URI", "X-Request-Uri", "Raw-Uri", "Orig-Path-Info", "ORIG_PATH_INFO", "UNENCODED_URL", "IIS_WasUrlRewritten", "Redirect-Url",
	} {
		attacks = append(attacks, request("POST /", name+": /orders\r\n"), request("POST /free", name+": /orders\r\n"))
	}
	// A field, a parameter or a trailer replaces the method.
	for _, method := range []string{"GET", "PUT", "DELETE", "OPTIONS", "post", "Post"} {
		attacks = append(attacks, request(method+" /orders", ""), request(method+" /orders?_method=POST", ""), request(method+" /orders?x&_METHOD=post", ""))
		for _, name := range []string{
			"X-HTTP-Method-Override", "X_HTTP_METHOD_OVERRIDE", "x.http.method.override", "X-HTTP-Method", "X-Method-Override", "X~HTTP~Method~Override", "Request-Method", "REQUEST_METHOD",
		} {
			for _, value := range []string{"POST", "post", " POST", "POST,GET", "GET\r\n" + name + ": POST"} {
				attacks = append(attacks, request(method+" /orders", name+": "+value+"\r\n"))
			}
		}
		attacks = append(attacks, method+" /orders HTTP/1.1\r\nHost: shop\r\nTransfer-Encoding: chunked\r\nTrailer: X-HTTP-Method-Override\r\n\r\n0\r\nX-HTTP-Method-Override: POST\r\n\r\n")
	}
	// A request is hidden in another one, or has a field that looks like a key.
	const hidden = "POST /orders HTTP/1.1\r\nHost: shop\r\nContent-Length: 0\r\n\r\n"
	length := fmt.Sprintf("Content-Length: %d\r\n", len(hidden))
	return append(attacks,
		request("POST /orders", "Idempotency-Key:\r\n"), request("POST /orders", "Idempotency_Key: 1\r\n"), request("POST /orders", "Connection: Idempotency-Key\r\n"),
		"POST /orders HTTP/1.0\r\nContent-Length: 0\r\n\r\n", "POST /orders\r\n\r\n",
		"POST /free HTTP/1.1\r\nHost: shop\r\nContent-Length: 0\r\n\r\n"+hidden,
		"GET / HTTP/1.1\r\nHost: shop\r\n"+length+"\r\n"+hidden,
		"POST /free HTTP/1.1\r\nHost: shop\r\n"+length+"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+hidden,
		"POST /free HTTP/1.1\r\nHost: shop\r\nContent-Length: 0\r\n"+length+"\r\n"+hidden,
		"POST /free HTTP/1.1\r\nHost: shop\r\n"+length+"Transfer_Encoding: chunked\r\n\r\n"+hidden,
		"POST /free HTTP/1.1\r\nHost: shop\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n"+hidden,
		"GET / HTTP/1.1\r\nHost: shop\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"+hidden,
		"GET / HTTP/1.1\r\nHost: shop\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"+hidden,
	)
}

// request returns the text of a request with an empty body.
func request(line, fields string) string {
	return line + " HTTP/1.1\r\nHost: shop\r\n" + fields + "Content-Length: 0\r\nConnection: close\r\n\r\n"
}

// A frameworkServer is a running framework.
type frameworkServer struct {
	t             *testing.T
	address, file string
}

// startFramework starts a framework and waits until it responds.
func startFramework(t *testing.T, f framework) *frameworkServer {
	t.Helper()
	s := &frameworkServer{t: t, address: freeAddress(t), file: filepath.Join(t.TempDir(), "orders")}
	process := f.command(t, s.address)
	process.Env = append(os.Environ(), "ORDERS="+s.file, "RACK_ENV=production", "RAILS_ENV=production", "PYTHONDONTWRITEBYTECODE=1")
	var log bytes.Buffer
	process.Stdout, process.Stderr, process.WaitDelay = &log, &log, time.Minute
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Signal(os.Interrupt) // unlike a kill, it ends the workers of gunicorn, too
		defer time.AfterFunc(time.Minute, func() { _ = process.Process.Kill() }).Stop()
		_ = process.Wait()
		if t.Failed() {
			t.Logf("log of %s:\n%s", f.name, log.Bytes()[max(0, log.Len()-2000):])
		}
	})
	waitForServer(t, "http://"+s.address)
	return s
}

// version returns the name and version of the framework, which the service sends.
func (s *frameworkServer) version() string {
	s.t.Helper()
	resp, err := http.Get("http://" + s.address + "/")
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("GET /: got %d %v, want 200\n%s", resp.StatusCode, err, text)
	}
	return string(text)
}

// count returns how many orders the service has executed.
func (s *frameworkServer) count() int {
	s.t.Helper()
	text, err := os.ReadFile(s.file)
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return bytes.Count(text, []byte("\n"))
}

// orders sends a request and returns how many orders it led to.
func (s *frameworkServer) orders(address, text string) int {
	s.t.Helper()
	before := s.count()
	s.send(address, text)
	return s.count() - before
}

// send sends bytes and returns the statuses of the responses.
func (s *frameworkServer) send(address, text string) (statuses []int) {
	s.t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, text); err != nil {
		return nil // the server closed the connection early
	}
	for in := bufio.NewReader(conn); ; {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return statuses
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		statuses = append(statuses, resp.StatusCode)
		_ = conn.(*net.TCPConn).CloseWrite()
	}
}

// flaskOrders installs Flask and gunicorn, and returns the command of the service.
func flaskOrders(t *testing.T, address string) *exec.Cmd {
	requireProgram(t, "python3")
	dir := t.TempDir()
	if out, err := exec.Command("python3", "-m", "pip", "install", "--quiet", "--target", dir, "flask", "gunicorn").CombinedOutput(); err != nil {
		skipNotInstallable(t, "Flask on gunicorn", out)
	}
	t.Setenv("PYTHONPATH", dir)
	return exec.Command("python3", "-m", "gunicorn", "--bind", address, "--chdir", "testdata/frameworks", "flask_orders:app")
}

func phpOrders(t *testing.T, address string) *exec.Cmd {
	requireProgram(t, "php")
	return exec.Command("php", "-S", address, "-t", "testdata/frameworks/php")
}

// rubyOrders returns the command of a service in Ruby that needs a gem.
func rubyOrders(name, gem string) func(t *testing.T, address string) *exec.Cmd {
	return func(t *testing.T, address string) *exec.Cmd {
		requireProgram(t, "puma")
		if out, err := exec.Command("ruby", "-e", "gem '"+gem+"'").CombinedOutput(); err != nil {
			reason, _, _ := bytes.Cut(out, []byte("\n"))
			skipNotInstallable(t, gem+" (apt-get install ruby-"+gem+")", reason)
		}
		return exec.Command("puma", "--quiet", "--bind", "tcp://"+address, "testdata/frameworks/"+name+".ru")
	}
}
