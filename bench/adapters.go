package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/cloudwego/hertz/pkg/app"
	hertz "github.com/cloudwego/hertz/pkg/app/server"
	"github.com/cloudwego/hertz/pkg/protocol/consts"
	"github.com/gin-gonic/gin"
	"github.com/gofiber/fiber/v3"
	"github.com/labstack/echo/v5"
	"github.com/zeromicro/go-zero/core/conf"
	"github.com/zeromicro/go-zero/core/stores/redis"
	"github.com/zeromicro/go-zero/rest"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/echo"
	"github.com/interlock-go/interlock/adapter/fiber"
	"github.com/interlock-go/interlock/adapter/gin"
	"github.com/interlock-go/interlock/adapter/gozero"
	"github.com/interlock-go/interlock/adapter/hertz"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// guardedSuffix ends the names of the rows with our Once. The row without it is the same
// framework with the bare handler.
const guardedSuffix = ", Interlock Once"

// The rows of the table about locks in go-zero.
const (
	gozeroLockRow  = "go-zero, Interlock Lock"
	gozeroRedisRow = "go-zero, its RedisLock"
)

// frameworks returns the rows of the table about adapters: each framework with a bare handler,
// and with Once on the embedded engine. Handlers are called as a server calls them, without a
// network.
func frameworks() []contender {
	rows := []contender{
		handlerContender(bareRow, nil, func(context.Context, string) (http.Handler, func(), error) {
			return http.HandlerFunc(sell), func() {}, nil
		}),
		handlerContender(onceRow, nil, func(context.Context, string) (http.Handler, func(), error) { return once(memory.New()) }),
	}
	for _, f := range []struct {
		name  string
		serve func(wrap func(http.Handler) http.Handler) (http.Handler, error)
	}{{"gin", serveGin}, {"echo", serveEcho}, {"go-zero", serveGoZero}} {
		rows = append(rows,
			handlerContender(f.name, nil, func(context.Context, string) (http.Handler, func(), error) {
				h, err := f.serve(nil)
				return h, func() {}, err
			}),
			handlerContender(f.name+guardedSuffix, nil, func(context.Context, string) (http.Handler, func(), error) {
				m, err := adapted()
				if err != nil {
					return nil, nil, err
				}
				h, err := f.serve(m.Wrap)
				return h, func() { _ = m.Close(context.Background()) }, err
			}))
	}
	return append(rows,
		hertzContender("Hertz", false), hertzContender("Hertz"+guardedSuffix, true),
		fiberContender("fiber", bareFiber), fiberContender("fiber"+guardedSuffix, guardedFiber), fiberContender(fiberRow, idempotentFiber))
}

// adapted returns the Once that adapters run.
func adapted() (*interlockhttp.Middleware, error) {
	return interlockhttp.Once(interlock.New(nil), guard.Policy{Name: "bench", Retain: resultRetention},
		interlockhttp.User(func(*http.Request) string { return "ann" }))
}

func serveGin(wrap func(http.Handler) http.Handler) (http.Handler, error) {
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	var handlers []gin.HandlerFunc
	if wrap != nil {
		handlers = append(handlers, interlockgin.Wrap(wrap))
	}
	router.POST("/orders", append(handlers, func(c *gin.Context) { c.Data(http.StatusCreated, "application/json", []byte(responseBody)) })...)
	return router, nil
}

func serveEcho(wrap func(http.Handler) http.Handler) (http.Handler, error) {
	e := echo.New()
	var wraps []echo.MiddlewareFunc
	if wrap != nil {
		wraps = append(wraps, interlockecho.Wrap(wrap))
	}
	e.POST("/orders", func(c *echo.Context) error {
		return c.Blob(http.StatusCreated, "application/json", []byte(responseBody))
	}, wraps...)
	return e, nil
}

func serveGoZero(wrap func(http.Handler) http.Handler) (http.Handler, error) {
	var config rest.RestConf
	if err := conf.FillDefault(&config); err != nil {
		return nil, err
	}
	config.Log.Level = "severe"
	config.Middlewares = rest.MiddlewaresConf{} // they cost more than all others together
	s, err := rest.NewServer(config)
	if err != nil {
		return nil, err
	}
	routes := []rest.Route{{Method: http.MethodPost, Path: "/orders", Handler: sell}}
	if wrap != nil {
		routes = interlockgozero.WithMiddleware(wrap, routes...)
	}
	s.AddRoutes(routes)
	serverless, err := rest.NewServerless(s)
	return http.HandlerFunc(serverless.Serve), err
}

// hertzContender returns a Hertz handler.
func hertzContender(name string, guarded bool) contender {
	return contender{name: name, open: func(context.Context, string) (locks, error) {
		h, end := hertz.New(hertz.WithDisablePrintRoute(true)), func() {}
		var handlers []app.HandlerFunc
		if guarded {
			m, err := adapted()
			if err != nil {
				return locks{}, err
			}
			handlers, end = append(handlers, interlockhertz.Wrap(m.Wrap)), func() { _ = m.Close(context.Background()) }
		}
		h.POST("/orders", append(handlers, func(_ context.Context, c *app.RequestContext) {
			c.Data(consts.StatusCreated, "application/json", []byte(responseBody))
		})...)
		if err := h.Init(); err != nil {
			return locks{}, err
		}
		next := uniqueNames()
		requests := sync.Pool{New: func() any { return h.NewContext() }}
		return locks{close: end, cycle: func(ctx context.Context, _ string) error {
			c := requests.Get().(*app.RequestContext)
			defer requests.Put(c)
			c.ResetWithoutConn()
			c.Request.SetMethod(consts.MethodPost)
			c.Request.SetRequestURI("/orders")
			c.Request.Header.SetContentTypeBytes([]byte("application/json"))
			c.Request.Header.Set("Idempotency-Key", next(1))
			c.Request.SetBodyString(requestBody)
			h.ServeHTTP(ctx, c)
			if c.Response.StatusCode() != consts.StatusCreated {
				return errStatus
			}
			return nil
		}}, nil
	}}
}

// gozeroLocks returns the rows of the table about locks in go-zero, on Redis.
func gozeroLocks() []contender {
	return []contender{
		handlerContender(gozeroRedisRow, nil, func(_ context.Context, addr string) (http.Handler, func(), error) {
			store, err := redis.NewRedis(redis.RedisConf{Host: addr, Type: redis.NodeType})
			if err != nil {
				return nil, nil, err
			}
			h, err := serveGoZero(func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					lock := redis.NewRedisLock(store, "bench:gozero:"+r.Header.Get("Idempotency-Key"))
					lock.SetExpire(int(lockLease.Seconds()))
					if ok, err := lock.AcquireCtx(r.Context()); err != nil || !ok {
						w.WriteHeader(http.StatusLocked)
						return
					}
					next.ServeHTTP(w, r)
					_, _ = lock.ReleaseCtx(r.Context())
				})
			})
			return h, func() {}, err
		}),
		handlerContender(gozeroLockRow, nil, func(ctx context.Context, addr string) (http.Handler, func(), error) {
			e, err := redisengine.Open(ctx, "redis://"+addr)
			if err != nil {
				return nil, nil, err
			}
			lock, err := interlockhttp.Lock(interlock.New(e), "bench", interlockhttp.Header("Idempotency-Key"))
			if err != nil {
				return nil, nil, err
			}
			h, err := serveGoZero(lock)
			return h, func() { _ = e.Close() }, err
		}),
	}
}

// measureAdapters measures our adapters beside the bare frameworks, and locks in go-zero.
func (p plan) measureAdapters(ctx context.Context, out io.Writer, s *server) error {
	f, err := openAll(ctx, s, selected(frameworks(), p.only))
	if err != nil {
		return err
	}
	defer f.closeAll()
	f.base = onceRow
	if err := p.rotate(ctx, f, 1); err != nil {
		return err
	}
	adaptingTable(f, p).print(out)
	for _, b := range []besideTable{
		{"Adapters: a call with a new key, embedded engine, over loopback: 1 caller", "calls/s", calls(), true},
		{"Adapters: a new message, embedded engine, without a broker: 1 message at a time", "messages/s", messages(), false},
	} {
		if err := p.measureBeside(ctx, out, s, b); err != nil {
			return err
		}
	}
	for _, g := range p.goroutines {
		if err := p.measureLocked(ctx, out, s, g); err != nil {
			return err
		}
	}
	return nil
}

func (p plan) measureLocked(ctx context.Context, out io.Writer, s *server, g int) error {
	f, err := openAll(ctx, s, selected(gozeroLocks(), p.only))
	if err != nil {
		return err
	}
	defer f.closeAll()
	f.base = gozeroRedisRow
	if err := p.rotate(ctx, f, g); err != nil {
		return err
	}
	t := &table{
		title:   fmt.Sprintf("Requests under a lock of their own in go-zero, on Redis: %d goroutines", g),
		columns: []string{"", "requests/s", "× " + f.base, "p50 µs", "p99 µs", "allocs", "Redis CPU µs"},
	}
	var foreign []float64
	for _, r := range f.rows {
		foreign = append(foreign, r.foreign...)
		t.add(r.name, thousands(median(r.rate)), ratio(r.ratio), micros(r.latency.at(0.5)), micros(r.latency.at(0.99)),
			per(float64(r.mallocs), r.cycles), microsPer(r.redisCPU, r.cycles))
	}
	t.remark = fmt.Sprintf("%d rounds; each contender runs for %v per round. %s%s", p.rounds, p.slice, otherLoad(foreign), f.failureText())
	t.print(out)
	return nil
}

// adaptingTable compares what Once adds in each framework with what it adds in net/http.
func adaptingTable(f *group, p plan) *table {
	t := &table{
		title:   "Adapters: a request with a new key, embedded engine, without a network: 1 goroutine",
		columns: []string{"", "requests/s", "p50 µs", "added µs", "added × net/http", "allocs", "added allocs"},
	}
	var foreign []float64
	for _, r := range f.rows {
		foreign = append(foreign, r.foreign...)
		added, times, allocs := "–", "–", "–"
		if bare := f.bareOf(r); bare != nil {
			took, more := r.addedTo(bare)
			added, allocs = fmt.Sprintf("%.1f", took), fmt.Sprintf("%.1f", more)
			if once := f.find(onceRow); once != nil && f.bareOf(once) != nil {
				base, _ := once.addedTo(f.bareOf(once))
				times = fmt.Sprintf("%.2f", took/base)
			}
		}
		t.add(r.name, thousands(median(r.rate)), micros(r.latency.at(0.5)), added, times, per(float64(r.mallocs), r.cycles), allocs)
	}
	t.remark = fmt.Sprintf("%d rounds; each contender runs for %v per round. %s%s", p.rounds, p.slice, otherLoad(foreign), f.failureText())
	return t
}

// newGuardedFiber adds our Once to a fiber app.
func newGuardedFiber(application *fiber.App) (end func(), _ error) {
	m, err := adapted()
	if err != nil {
		return nil, err
	}
	application.Use(interlockfiber.Wrap(m.Wrap))
	return func() { _ = m.Close(context.Background()) }, nil
}
