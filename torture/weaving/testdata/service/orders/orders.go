// Package orders is the service layer. It knows no router and no lock.
package orders

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"

	_ "github.com/interlock-go/interlock/on"
)

// A Service handles orders. Its work is done by a provider, over HTTP.
type Service struct{ provider string }

// New returns a service that calls the provider at a URL.
func New(provider string) *Service { return &Service{provider} }

// A Receipt is the provider's response.
type Receipt struct {
	Order  string `json:"order"`
	Number int    `json:"number"` // differs for each execution
}

// Charge charges the customer once. A repeated call gets the receipt of the first.
//
//interlock:once name=charge key=order on-duplicate=wait wait=1m lease=10s
func (s *Service) Charge(ctx context.Context, order string) (Receipt, error) {
	return s.call(ctx, "charge", order)
}

// Notify sends a mail to the customer. Two mails are better than none.
//
//interlock:once name=notify key=order on-duplicate=wait wait=1m lease=10s on-unknown=rerun
func (s *Service) Notify(ctx context.Context, order string) (Receipt, error) {
	return s.call(ctx, "notify", order)
}

// Pack puts one more item into the parcel of the order.
//
//interlock:lock name=pack key=order wait=1m
func (s *Service) Pack(ctx context.Context, order string) (Receipt, error) {
	return s.call(ctx, "pack", order)
}

// call calls the provider.
func (s *Service) call(ctx context.Context, work, order string) (r Receipt, err error) {
	u := s.provider + "/" + work + "/" + url.PathEscape(order)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u, nil)
	if err != nil {
		return r, err
	}
	req.Header.Set("Process", strconv.Itoa(os.Getpid()))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return r, fmt.Errorf("%s: %s", u, resp.Status)
	}
	return r, json.NewDecoder(resp.Body).Decode(&r)
}
