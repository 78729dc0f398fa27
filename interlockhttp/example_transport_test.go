package interlockhttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/interlockhttp"
)

// The server is overloaded twice. The transport retries with the same key.
func ExampleTransport() {
	var keys []string
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		if requests.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusCreated)
	}))
	defer server.Close()

	client := &http.Client{Transport: interlockhttp.NewTransport(nil,
		interlockhttp.Backoff(time.Millisecond, 5*time.Millisecond),
		interlockhttp.OnRetry(func(r interlockhttp.Retry) { fmt.Println("attempt", r.Attempt, "got status", r.Status) }),
	)}

	// The key is stored with the order, so that it survives a restart.
	order := struct{ Number, Key string }{"A-1", interlockhttp.NewKey()}

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	ctx = interlockhttp.WithKey(ctx, order.Key)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/charges", strings.NewReader(`{"order":"A-1","cents":700}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := client.Do(req)
	if err != nil {
		fmt.Println(err) // says whether the outcome is unknown
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	fmt.Println(len(keys), "requests with one key:", keys[0] == keys[1] && keys[1] == keys[2])
	// Output:
	// attempt 1 got status 503
	// attempt 2 got status 503
	// 201 Created
	// 3 requests with one key: true
}

// The client stores the key with the payment, so a restart retries with the same key.
func ExampleNewTransport() {
	bank, ctx := overloadedBank(), context.Background()
	defer bank.Close()

	client := &http.Client{Transport: interlockhttp.NewTransport(nil)}

	payment := Payment{Order: "A-1", Cents: 700, Key: interlockhttp.NewKey()} // stored before the request is sent
	req, err := http.NewRequestWithContext(interlockhttp.WithKey(ctx, payment.Key), http.MethodPost, bank.URL, payment.JSON())
	if err != nil {
		panic(err)
	}
	resp, err := client.Do(req) // retries while that is safe
	if err != nil {
		panic(err) // says whether the outcome is unknown
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	// Output: 201 Created
}

// A Payment is a row in the shop's database.
type Payment struct {
	Order string
	Cents int
	Key   string
}

// JSON returns the request body for the bank.
func (p Payment) JSON() io.Reader {
	return strings.NewReader(fmt.Sprintf(`{"order":%q,"cents":%d}`, p.Order, p.Cents))
}

// overloadedBank refuses the first request and accepts the second.
func overloadedBank() *httptest.Server {
	var requests atomic.Int64
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusCreated)
	}))
}
