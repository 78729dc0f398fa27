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

// A server that is overloaded twice, and asked with the same key each time.
func ExampleTransport() {
	var keys []string
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		if asked.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusCreated)
	}))
	defer server.Close()

	client := &http.Client{Transport: interlockhttp.NewTransport(nil,
		interlockhttp.Pauses(time.Millisecond, 5*time.Millisecond),
		interlockhttp.OnRetry(func(r interlockhttp.Retry) { fmt.Println("try", r.Attempt, "was answered with", r.Status) }),
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
	// try 1 was answered with 503
	// try 2 was answered with 503
	// 201 Created
	// 3 requests with one key: true
}

// What a client has to do for it: keep the key with what it is for.
func ExampleNewTransport() {
	bank, ctx := overloadedBank(), context.Background()
	defer bank.Close()

	client := &http.Client{Transport: interlockhttp.NewTransport(nil)}

	payment := Payment{Order: "A-1", Cents: 700, Key: interlockhttp.NewKey()} // stored before it is sent
	req, err := http.NewRequestWithContext(interlockhttp.WithKey(ctx, payment.Key), http.MethodPost, bank.URL, payment.JSON())
	if err != nil {
		panic(err)
	}
	resp, err := client.Do(req) // as often as need be
	if err != nil {
		panic(err) // it says whether the outcome is unknown
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	// Output: 201 Created
}

// A Payment is what a shop has in its database.
type Payment struct {
	Order string
	Cents int
	Key   string
}

// JSON is what the bank wants to know.
func (p Payment) JSON() io.Reader {
	return strings.NewReader(fmt.Sprintf(`{"order":%q,"cents":%d}`, p.Order, p.Cents))
}

// overloadedBank answers the second time.
func overloadedBank() *httptest.Server {
	var asked atomic.Int64
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusCreated)
	}))
}
