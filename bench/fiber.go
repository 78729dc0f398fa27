package main

import (
	"context"
	"sync"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/idempotency"
	"github.com/valyala/fasthttp"
)

// The middleware in front of the handler in fiber.
const (
	bareFiber       = iota
	guardedFiber    // our Once
	idempotentFiber // fiber's idempotency middleware
)

// fiberContender returns a fiber handler. fiber's idempotency middleware requires keys of 36
// characters. It has no user scope and no fingerprint, and works in one process.
func fiberContender(name string, before int) contender {
	return contender{name: name, open: func(context.Context, string) (locks, error) {
		app := fiber.New()
		end := func() {}
		switch before {
		case idempotentFiber:
			app.Use(idempotency.New(idempotency.Config{Lifetime: resultRetention}))
		case guardedFiber:
			var err error
			if end, err = newGuardedFiber(app); err != nil {
				return locks{}, err
			}
		}
		app.Post("/orders", func(c fiber.Ctx) error {
			c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
			return c.Status(fiber.StatusCreated).SendString(responseBody)
		})
		h, next := app.Handler(), uniqueNames()
		requests := sync.Pool{New: func() any { return new(fasthttp.RequestCtx) }}
		return locks{close: func() { end(); _ = app.Shutdown() }, cycle: func(context.Context, string) error {
			c := requests.Get().(*fasthttp.RequestCtx)
			defer requests.Put(c)
			c.Request.Reset()
			c.Response.Reset()
			c.Request.Header.SetMethod(fiber.MethodPost)
			c.Request.SetRequestURI("/orders")
			c.Request.Header.SetContentType(fiber.MIMEApplicationJSON)
			c.Request.Header.Set("X-Idempotency-Key", uuidLike(next(1)))
			c.Request.SetBodyString(requestBody)
			h(c)
			if c.Response.StatusCode() != fiber.StatusCreated {
				return errStatus
			}
			return nil
		}}, nil
	}}
}

// uuidLike pads a name to the length that fiber requires of keys.
func uuidLike(name string) string {
	const zeros = "000000000000000000000000000000000000"
	return zeros[:max(0, len(zeros)-len(name))] + name
}
