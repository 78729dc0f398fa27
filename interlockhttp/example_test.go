package interlockhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

var client = interlock.New(nil)

// send sends a POST request to a handler and returns its response.
func send(h http.Handler, path, key, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("X-User", "ann")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// A client that retries an order with the same key gets the first response (requirement
// P10).
func ExampleOnce() {
	orders, err := interlockhttp.Once(client, guard.Charge("orders"), interlockhttp.User(signedIn))
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /orders", orders.Wrap(http.HandlerFunc(placeOrder)))

	const key = `"8e03978e-40d5-43dd-bc93-6894a57f9324"`
	show(send(mux, "/orders", key, `{"sku": "shoe", "n": 2}`))
	show(send(mux, "/orders", key, `{"sku": "shoe", "n": 2}`)) // a retry
	show(send(mux, "/orders", key, `{"sku": "shoe", "n": 3}`)) // the same key for another order
	// Output:
	// 201 {"order": "A-1"}
	// 201 {"order": "A-1"} Idempotent-Replayed: true
	// 422 key_reused
}

var placed atomic.Int64

func placeOrder(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"order": "A-%d"}`, placed.Add(1))
}

// show prints a response.
func show(w *httptest.ResponseRecorder) {
	text := w.Body.String()
	if p, ok := interlockhttp.ReadProblem(w.Result()); ok {
		text = string(p.Code)
	}
	if replayed := w.Header().Get("Idempotent-Replayed"); replayed != "" {
		text += " Idempotent-Replayed: " + replayed
	}
	fmt.Println(w.Code, text)
}

// A button that is clicked five times pays once (requirement P10). The page sends no key;
// identical requests from one user are duplicates.
func ExampleSubmit() {
	paid := 0
	pay := func(http.ResponseWriter, *http.Request) { paid++ }

	payments := interlockhttp.Must(interlockhttp.Submit(client, guard.Payment("pay"), interlockhttp.User(signedIn)))
	mux := http.NewServeMux()
	mux.Handle("POST /orders/{id}/pay", payments.Wrap(http.HandlerFunc(pay)))

	for range 5 {
		response := send(mux, "/orders/42/pay", "", "")
		fmt.Println(response.Code)
	}
	fmt.Println("paid", paid)
	// Output:
	// 200
	// 429
	// 429
	// 429
	// 429
	// paid 1
}

// An import runs once a day, even if ten administrators start it (requirement P10).
func ExampleOnce_import() {
	imported := 0
	imports := interlockhttp.Must(interlockhttp.Once(client, guard.Import("import"),
		interlockhttp.Key(interlockhttp.Query("day"))))
	mux := http.NewServeMux()
	mux.Handle("POST /import", imports.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		imported++
		fmt.Fprintf(w, "imported %s", r.FormValue("day"))
	})))

	var admins sync.WaitGroup
	for range 10 {
		admins.Go(func() { send(mux, "/import?day=2026-11-15", "", "") })
	}
	admins.Wait()
	fmt.Println(send(mux, "/import?day=2026-11-15", "", "").Body)
	fmt.Println("imports:", imported)
	// Output:
	// imported 2026-11-15
	// imports: 1
}

// Requests about one order are handled one at a time.
func ExampleLock() {
	oneAtATime, err := interlockhttp.Lock(client, "order", interlockhttp.PathValue("id"), interlockhttp.Locking(interlock.Wait(time.Second)))
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /orders/{id}/cancel", oneAtATime(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "cancelled")
	})))
	fmt.Println(send(mux, "/orders/42/cancel", "", "").Body)
	// Output: cancelled
}

// A page fetches a token with its form and sends it back. A token works once.
func ExampleTokenHandler() {
	tokens, err := guard.NewTokens(time.Hour, []byte("thirty-two bytes, best random…"))
	if err != nil {
		panic(err)
	}
	orders := interlockhttp.Must(interlockhttp.Once(client, guard.Charge("token-orders"),
		interlockhttp.User(signedIn), interlockhttp.WithTokens(tokens, "order")))
	mux := http.NewServeMux()
	mux.Handle("GET /idempotent-token", interlockhttp.TokenHandler(tokens, "order", signedIn))
	mux.Handle("POST /orders", orders.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "placed")
	})))
	fmt.Println(send(mux, "/orders", "made-up", "").Code)
	fmt.Println(send(mux, "/orders", tokens.Issue("ann", "order"), "").Body)
	// Output:
	// 403
	// placed
}

// Shadow reports what the middleware would do, and enforces nothing.
func ExampleShadow() {
	orders := interlockhttp.Must(interlockhttp.Once(client, guard.Charge("shadow-orders"), interlockhttp.User(signedIn),
		interlockhttp.Shadow(func(s interlockhttp.Shadowed) {
			if s.Problem != nil {
				fmt.Println("would have been refused:", s.Problem.Code)
			} else {
				fmt.Println("would have been replayed:", s.Replay.Status)
			}
		})))
	h := orders.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fmt.Println("runs") }))
	send(h, "/orders", "k-1", "two shoes")
	send(h, "/orders", "k-1", "two shoes")
	send(h, "/orders", "", "two shoes")
	// Output:
	// runs
	// would have been replayed: 200
	// runs
	// would have been refused: key_missing
	// runs
}

// Settle overrides the outcome that the status code implies.
func ExampleSettle() {
	orders := interlockhttp.Must(interlockhttp.Once(client, guard.Charge("settled-orders"), interlockhttp.User(signedIn)))
	tries := 0
	h := orders.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if tries++; tries == 1 {
			interlockhttp.Settle(r.Context(), interlockhttp.NotExecuted) // the bank was never called
			http.Error(w, "the bank is closed", http.StatusServiceUnavailable)
		}
	}))
	fmt.Println(send(h, "/orders", "k-1", "").Code)
	fmt.Println(send(h, "/orders", "k-1", "").Code)
	// Output:
	// 503
	// 200
}

// Close waits for handlers that still run, including those whose client is gone.
func ExampleMiddleware_Close() {
	orders := interlockhttp.Must(interlockhttp.Once(client, guard.Charge("closed-orders"), interlockhttp.User(signedIn)))
	server := &http.Server{Handler: orders.Wrap(http.NotFoundHandler()), ReadHeaderTimeout: time.Second}

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	fmt.Println(server.Shutdown(ctx)) // accepts no new requests
	fmt.Println(orders.Close(ctx))    // waits for detached handlers
	// Output:
	// <nil>
	// <nil>
}

// A limit says in each response how many requests are left.
func ExampleLimit() {
	orders, err := interlockhttp.Limit(client, "orders", 3, interlock.PerDay(time.UTC), interlockhttp.Header("X-User"))
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /orders", orders(http.HandlerFunc(placeOrder)))

	for range 4 {
		response := send(mux, "/orders", "", "")
		left, _, _ := strings.Cut(response.Header().Get("RateLimit"), ";t=")
		fmt.Println(response.Code, left)
	}
	// Output:
	// 201 "orders";r=2
	// 201 "orders";r=1
	// 201 "orders";r=0
	// 429 "orders";r=0
}
