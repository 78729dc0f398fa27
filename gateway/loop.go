package gateway

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
)

// mostHops is how many gateways a request may pass.
const mostHops = 8

// product is how gateways call themselves in Via; what follows tells one from another.
const product = "interlock-"

func newPseudonym() string { return product + strings.ToLower(rand.Text()[:12]) }

// via returns what the gateway adds to the way of a request.
func (g *Gateway) via(r *http.Request) string {
	return fmt.Sprintf("%d.%d %s", r.ProtoMajor, r.ProtoMinor, g.name)
}

// loops tells whether a request was here before, or came by so many gateways that it
// must go in circles.
func (g *Gateway) loops(h http.Header) bool {
	hops := 0
	for _, value := range h["Via"] {
		for hop := range strings.SplitSeq(value, ",") {
			_, by, _ := strings.Cut(strings.TrimSpace(hop), " ")
			by, _, _ = strings.Cut(by, " ")
			if by == g.name {
				return true
			}
			if strings.HasPrefix(by, product) {
				hops++
			}
		}
	}
	return hops >= mostHops
}
