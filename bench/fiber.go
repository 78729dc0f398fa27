package main

import (
	"context"
	"sync"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/idempotency"
	"github.com/valyala/fasthttp"
)

// fibered is a handler of fiber's, with its own middleware or without. It takes keys
// of 36 characters; it has no user, no fingerprint, and no other process.
func fibered(name string, guarded bool) contender {
	return contender{name: name, open: func(context.Context, string) (locks, error) {
		app := fiber.New()
		if guarded {
			app.Use(idempotency.New(idempotency.Config{Lifetime: kept}))
		}
		app.Post("/orders", func(c fiber.Ctx) error {
			c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
			return c.Status(fiber.StatusCreated).SendString(soldText)
		})
		h, next := app.Handler(), fresh()
		requests := sync.Pool{New: func() any { return new(fasthttp.RequestCtx) }}
		return locks{close: func() { _ = app.Shutdown() }, cycle: func(context.Context, string) error {
			c := requests.Get().(*fasthttp.RequestCtx)
			defer requests.Put(c)
			c.Request.Reset()
			c.Response.Reset()
			c.Request.Header.SetMethod(fiber.MethodPost)
			c.Request.SetRequestURI("/orders")
			c.Request.Header.SetContentType(fiber.MIMEApplicationJSON)
			c.Request.Header.Set("X-Idempotency-Key", uuidLike(next(1)))
			c.Request.SetBodyString(wishedText)
			h(c)
			if c.Response.StatusCode() != fiber.StatusCreated {
				return errStatus
			}
			return nil
		}}, nil
	}}
}

// uuidLike makes a name as long as fiber wants keys to be.
func uuidLike(name string) string {
	const zeros = "000000000000000000000000000000000000"
	return zeros[:max(0, len(zeros)-len(name))] + name
}
