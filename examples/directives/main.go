// Program directives protects handler methods of gin, echo, fiber, Hertz and gRPC by one comment
// each. Every framework gets 20 concurrent payments of one order.
//
//	go tool interlock go run ./examples/directives
//
// Plain go run compiles no directives, so the program refuses to start. Output:
//
//	gin: 20 payments, at most 1 at a time
//	echo: 20 payments, at most 1 at a time
//	fiber: 20 payments, at most 1 at a time
//	Hertz: 20 payments, at most 1 at a time
//	gRPC: 20 payments, at most 1 at a time
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"

	"sync"
	"time"

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/app/server"
	"github.com/cloudwego/hertz/pkg/protocol/consts"
	"github.com/gin-gonic/gin"
	"github.com/gofiber/fiber/v3"
	"github.com/labstack/echo/v5"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"

	_ "github.com/interlock-go/interlock/on"
)

// A shop pays orders. Its methods are handlers of the frameworks.
type shop struct {
	mu                  sync.Mutex
	inside, most, total int
}

// GinPay is a handler of gin. It has no error result, so busy answers if the lock stays held.
//
//interlock:lock name=gin key=c.Param("id") ctx=c.Request.Context() kind=plain wait=30s on-timeout=call:ginBusy
func (s *shop) GinPay(c *gin.Context) {
	s.pay()
	c.String(http.StatusOK, "paid")
}

//nolint:unused // the directive calls it
func ginBusy(c *gin.Context) { c.AbortWithStatus(http.StatusLocked) }

// EchoPay is a handler of echo, whose HTTPErrorHandler answers a refusal.
//
//interlock:lock name=echo key=c.Param("id") ctx=c.Request().Context() kind=plain wait=30s
func (s *shop) EchoPay(c *echo.Context) error {
	s.pay()
	return c.String(http.StatusOK, "paid")
}

// FiberPay is a handler of fiber, whose ErrorHandler answers a refusal.
//
//interlock:lock name=fiber key=c.Params("id") ctx=c.Context() kind=plain wait=30s
func (s *shop) FiberPay(c fiber.Ctx) error {
	s.pay()
	return c.SendString("paid")
}

// HertzPay is a handler of Hertz. Its context is the hold.
//
//interlock:lock name=hertz key=c.Param("id") wait=30s on-timeout=call:hertzBusy
func (s *shop) HertzPay(ctx context.Context, c *app.RequestContext) {
	s.pay()
	c.String(consts.StatusOK, "paid")
}

//nolint:unused // the directive calls it
func hertzBusy(_ context.Context, c *app.RequestContext) { c.AbortWithStatus(consts.StatusLocked) }

// GRPCPay is a method of a gRPC service. Its context is the hold.
//
//interlock:lock name=grpc key=id.GetValue() wait=30s
func (s *shop) GRPCPay(ctx context.Context, id *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
	s.pay()
	return wrapperspb.String("paid " + id.GetValue()), ctx.Err() // the lock may be lost
}

// pay counts how many payments run at once.
func (s *shop) pay() {
	s.mu.Lock()
	s.inside++
	s.total++
	s.most = max(s.most, s.inside)
	s.mu.Unlock()
	time.Sleep(time.Millisecond)
	s.mu.Lock()
	s.inside--
	s.mu.Unlock()
}

func main() {
	for _, f := range []struct {
		name string
		run  func(*shop) error
	}{{"gin", runGin}, {"echo", runEcho}, {"fiber", runFiber}, {"Hertz", runHertz}, {"gRPC", runGRPC}} {
		s := new(shop)
		if err := f.run(s); err != nil {
			log.Fatal(f.name, ": ", err)
		}
		fmt.Printf("%s: %d payments, at most %d at a time\n", f.name, s.total, s.most)
	}
}

func runGin(s *shop) error {
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.POST("/orders/:id/pay", s.GinPay)
	server := httptest.NewServer(router)
	defer server.Close()
	return concurrently(func() error { return post(server.URL) })
}

func runEcho(s *shop) error {
	e := echo.New()
	e.POST("/orders/:id/pay", s.EchoPay)
	server := httptest.NewServer(e)
	defer server.Close()
	return concurrently(func() error { return post(server.URL) })
}

func runFiber(s *shop) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	application := fiber.New()
	application.Post("/orders/:id/pay", s.FiberPay)
	go func() { _ = application.Listener(listener, fiber.ListenConfig{DisableStartupMessage: true}) }()
	defer application.Shutdown() //nolint:errcheck // the program ends
	return concurrently(func() error { return post("http://" + listener.Addr().String()) })
}

func runHertz(s *shop) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	h := server.New(server.WithListener(listener), server.WithHostPorts(listener.Addr().String()), server.WithDisablePrintRoute(true))
	h.POST("/orders/:id/pay", s.HertzPay)
	go func() { _ = h.Run() }()
	defer h.Close() //nolint:errcheck // the program ends
	return concurrently(func() error { return post("http://" + listener.Addr().String()) })
}

func runGRPC(s *shop) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	g := grpc.NewServer()
	g.RegisterService(&grpc.ServiceDesc{ServiceName: "Shop", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{MethodName: "Pay",
		Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			id := new(wrapperspb.StringValue)
			if err := decode(id); err != nil {
				return nil, err
			}
			return s.GRPCPay(ctx, id)
		}}}}, s)
	go func() { _ = g.Serve(listener) }()
	defer g.Stop()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing is lost
	return concurrently(func() error {
		return conn.Invoke(context.Background(), "/Shop/Pay", wrapperspb.String("7"), new(wrapperspb.StringValue))
	})
}

// concurrently runs 20 calls at once.
func concurrently(call func() error) error {
	errs := make(chan error, 20)
	for range cap(errs) {
		go func() { errs <- call() }()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

// post pays order 7.
func post(url string) error {
	resp, err := http.Post(url+"/orders/7/pay", "text/plain", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	return err
}
