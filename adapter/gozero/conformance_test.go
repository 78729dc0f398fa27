package interlockgozero_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/zeromicro/go-zero/core/conf"
	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/rest"
	"github.com/zeromicro/go-zero/rest/httpx"
	"github.com/zeromicro/go-zero/rest/pathvar"

	"github.com/interlock-go/interlock/adapter/gozero"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/interlocktest/httpconformance"
	"github.com/interlock-go/interlock/internal/testing/child"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

func TestConformance(t *testing.T) { httpconformance.Run(t, framework) }

func TestStorm(t *testing.T) {
	child.SkipIfShort(t, "three processes")
	httpconformance.Storm(t, framework,
		func(t testing.TB) string { return redistest.Start(t).URL() },
		func(ctx context.Context, url string) (engine.Engine, error) { return redisengine.Open(ctx, url) })
}

func TestMain(m *testing.M) {
	logx.Disable()
	// The error handler of httpx is the whole program's. It answers problems with their code.
	httpx.SetErrorHandlerCtx(func(_ context.Context, err error) (int, any) {
		if p := (*interlockhttp.Problem)(nil); errors.As(err, &p) {
			return p.Status, p.Code
		}
		return http.StatusInternalServerError, err
	})
	m.Run()
}

var framework = httpconformance.Framework{
	Name:    "go-zero",
	Serve:   serve,
	User:    interlockgozero.Claim("user"),
	Order:   interlockhttp.Header(httpconformance.FieldOrder),
	Problem: interlockgozero.WriteProblem(),
	Lacks: map[string]string{
		"the temporary files of an upload are removed": "go-zero copies the request itself, so the server does not find the files",
	},
}

func serve(t testing.TB, routes []httpconformance.Route) string {
	var config rest.RestConf
	if err := conf.FillDefault(&config); err != nil {
		t.Fatal(err)
	}
	config.Log.Level = "severe"
	config.MaxBytes = 64 << 20
	config.Timeout = 60_000 // a slow machine; tests of timeouts set their own
	config.Middlewares.Shedding = false
	config.Middlewares.Breaker = false // it would refuse requests after the 500s of the tests
	server, err := rest.NewServer(config)
	if err != nil {
		t.Fatal(err)
	}
	server.Use(outer)
	for _, route := range routes {
		handler := func(w http.ResponseWriter, r *http.Request) {
			if err := route.Handle(exchange{w, r}); err != nil {
				httpx.ErrorCtx(r.Context(), w, err)
			}
		}
		if route.Tokens != nil {
			handler = interlockhttp.TokenHandler(route.Tokens, "order", user).ServeHTTP
		}
		added := []rest.Route{{Method: route.Method, Path: route.Path, Handler: handler}}
		for _, wrap := range slices.Backward(route.Wraps) {
			added = interlockgozero.WithMiddleware(wrap, added...)
		}
		server.AddRoutes(added)
	}
	serverless, err := rest.NewServerless(server)
	if err != nil {
		t.Fatal(err)
	}
	local := httptest.NewServer(http.HandlerFunc(serverless.Serve))
	t.Cleanup(local.Close)
	return local.URL
}

func user(r *http.Request) string {
	name, _ := r.Context().Value("user").(string)
	return name
}

// outer is what stands before a route. It puts the user where rest.WithJwt puts claims.
func outer(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(httpconformance.FieldOuter, r.Header.Get(httpconformance.FieldOuter))
		name := r.Header.Get(httpconformance.FieldUser)
		next(w, r.WithContext(context.WithValue(r.Context(), "user", name))) //nolint:revive,staticcheck // as go-zero's own
	}
}

type exchange struct {
	w http.ResponseWriter
	r *http.Request
}

func (x exchange) Context() context.Context     { return x.r.Context() }
func (x exchange) Param(name string) string     { return pathvar.Vars(x.r)[name] }
func (x exchange) SetHeader(name, value string) { x.w.Header().Set(name, value) }

func (x exchange) Body() (string, error) {
	body, err := io.ReadAll(x.r.Body)
	return string(body), err
}

func (x exchange) File(name string) (int64, error) {
	_, file, err := x.r.FormFile(name)
	if err != nil {
		return 0, err
	}
	return file.Size, nil
}

func (x exchange) Send(status int, body string) error {
	x.w.WriteHeader(status)
	if body == "" {
		return nil
	}
	_, err := io.WriteString(x.w, body)
	return err
}

func (x exchange) Stream(chunks func(send func(string) error) error) error {
	return chunks(func(text string) error {
		_, err := io.WriteString(x.w, text)
		return errors.Join(err, http.NewResponseController(x.w).Flush())
	})
}

func (x exchange) SendTrailer(body, name, value string) error {
	x.SetHeader("Trailer", name)
	_, err := io.WriteString(x.w, body)
	x.SetHeader(name, value)
	return err
}

func (x exchange) Upgrade(raw string) error {
	conn, rw, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		return err
	}
	_, err = rw.WriteString(raw)
	return errors.Join(err, rw.Flush(), conn.Close())
}
