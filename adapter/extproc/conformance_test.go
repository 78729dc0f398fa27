package interlockextproc_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"

	"github.com/interlock-go/interlock/adapter/extproc"
	"github.com/interlock-go/interlock/adapter/extproc/envoytest"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/interlocktest/httpconformance"
)

func TestConformance(t *testing.T) { httpconformance.Run(t, framework) }

// userKey is the context key of the user.
type userKey struct{}

// framework is an Envoy whose filter calls the middlewares, before an upstream with the
// handlers.
var framework = httpconformance.Framework{
	Name:  "ext_proc",
	Serve: serveConformance,
	User:  interlockhttp.User(userOf),
	Order: interlockhttp.Header(httpconformance.FieldOrder),
	Problem: interlockhttp.WriteProblem(func(w http.ResponseWriter, _ *http.Request, p *interlockhttp.Problem) {
		w.WriteHeader(p.Status)
		_, _ = io.WriteString(w, string(p.Code))
	}),
	Lacks: map[string]string{
		"an error before anything was sent frees the key":                 otherProcess,
		"a panic leaves the outcome unknown":                              aPanic,
		"a panic after a response was written leaves the outcome unknown": aPanic,
		"a handler settles the outcome":                                   otherProcess,
		"a handler has a fence":                                           otherProcess,
		"a handler gives its unit back":                                   otherProcess,
		"a client that disconnects does not stop the handler":             "Envoy cancels the request, and the outcome is unknown",
		"a streamed response is sent at once and not kept":                "Envoy sends a response when it is complete, unless it is an event stream",
		"trailers are replayed":                                           "an immediate response has no trailers",
		"an upgraded connection is not kept":                              "envoytest has no upgrades",
	},
}

// The handlers run behind Envoy.
const (
	otherProcess = "the handler runs in another process, where the context of the guard is not known"
	aPanic       = "a panic in another process is an ordinary 500, or a reset connection; see TestUpstreamFailures"
)

func userOf(r *http.Request) string {
	user, _ := r.Context().Value(userKey{}).(string)
	return user
}

func serveConformance(t testing.TB, routes []httpconformance.Route) string {
	upstream := http.NewServeMux()
	for _, route := range routes {
		if route.Handle != nil {
			upstream.HandleFunc(pattern(route), func(w http.ResponseWriter, r *http.Request) {
				if err := route.Handle(conformanceExchange{w, r}); err != nil {
					http.Error(w, err.Error(), http.StatusInternalServerError)
				}
			})
		}
	}
	back := httptest.NewUnstartedServer(recovering(upstream))
	back.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	back.Start()
	t.Cleanup(func() {
		back.CloseClientConnections()
		back.Close()
	})
	server := grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20))
	extprocv3.RegisterExternalProcessorServer(server, interlockextproc.New(func(envoy http.Handler) http.Handler {
		mux := http.NewServeMux()
		for _, route := range routes {
			next := envoy
			if route.Tokens != nil {
				next = interlockhttp.TokenHandler(route.Tokens, "order", userOf)
			}
			for _, wrap := range slices.Backward(route.Wraps) {
				next = wrap(next)
			}
			mux.Handle(pattern(route), recovering(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set(httpconformance.FieldOuter, r.Header.Get(httpconformance.FieldOuter))
				next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, r.Header.Get(httpconformance.FieldUser))))
			})))
		}
		return mux
	}, interlockextproc.Logger(slog.New(slog.DiscardHandler))))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(l) }() // until the test ends
	t.Cleanup(server.Stop)
	return envoytest.Start(t, envoytest.Config{Servers: []string{l.Addr().String()}, Upstream: back.URL, BufferLimit: 32 << 20}).URL
}

// pattern returns the pattern of a route: its path has :id for {id}.
func pattern(r httpconformance.Route) string {
	parts := strings.Split(r.Path, "/")
	for i, part := range parts {
		if name, ok := strings.CutPrefix(part, ":"); ok {
			parts[i] = "{" + name + "}"
		}
	}
	return r.Method + " " + strings.Join(parts, "/")
}

// recovering answers a panic with 500.
func recovering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch p := recover(); p {
			case nil:
			case http.ErrAbortHandler:
				panic(p)
			default:
				http.Error(w, "panic", http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

type conformanceExchange struct {
	w http.ResponseWriter
	r *http.Request
}

func (x conformanceExchange) Context() context.Context     { return x.r.Context() }
func (x conformanceExchange) Param(name string) string     { return x.r.PathValue(name) }
func (x conformanceExchange) SetHeader(name, value string) { x.w.Header().Set(name, value) }

func (x conformanceExchange) Body() (string, error) {
	text, err := io.ReadAll(x.r.Body)
	return string(text), err
}

func (x conformanceExchange) File(name string) (int64, error) {
	_, file, err := x.r.FormFile(name)
	if err != nil {
		return 0, err
	}
	return file.Size, nil
}

func (x conformanceExchange) Send(status int, body string) error {
	x.w.WriteHeader(status)
	_, err := io.WriteString(x.w, body)
	if errors.Is(err, http.ErrBodyNotAllowed) && body == "" {
		return nil
	}
	return err
}

func (x conformanceExchange) Stream(chunks func(send func(string) error) error) error {
	return chunks(func(text string) error {
		_, err := io.WriteString(x.w, text)
		return errors.Join(err, http.NewResponseController(x.w).Flush())
	})
}

func (x conformanceExchange) SendTrailer(body, name, value string) error {
	x.w.Header().Set("Trailer", name)
	_, err := io.WriteString(x.w, body)
	x.w.Header().Set(name, value)
	return err
}

func (x conformanceExchange) Upgrade(raw string) error {
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		return err
	}
	_, err = io.WriteString(conn, raw)
	return errors.Join(err, conn.Close())
}
