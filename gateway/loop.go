package gateway

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
)

// maxHops is how many gateways a request may pass. In a loop of many gateways, a gateway
// finds its own name only on the second pass; maxHops ends such a loop earlier.
const maxHops = 8

// product is the beginning of a gateway's name in Via. A random suffix tells gateways
// apart.
const product = "interlock-"

// newPseudonym returns a name that reveals no host. RFC 9110 allows one in Via.
func newPseudonym() string { return product + strings.ToLower(rand.Text()[:12]) }

// via returns the gateway's entry in the Via field.
func (g *Gateway) via(r *http.Request) string {
	return fmt.Sprintf("%d.%d %s", r.ProtoMajor, r.ProtoMinor, g.name)
}

// loops reports whether a request passed this gateway before, or maxHops others.
func (g *Gateway) loops(h http.Header) bool {
	hops := 0
	for _, value := range h["Via"] {
		for hop := range strings.SplitSeq(value, ",") {
			_, name, _ := strings.Cut(strings.TrimSpace(hop), " ")
			// A comment may follow the name.
			name, _, _ = strings.Cut(name, " ")
			if name == g.name {
				return true
			}
			if strings.HasPrefix(name, product) {
				hops++
			}
		}
	}
	return hops >= maxHops
}
