package faultnet

import (
	"context"
	"net"
	"testing"
)

// A Network has a [Proxy] in front of each of several servers, such as the nodes of a
// cluster. Clients use its Dial.
type Network struct{ proxies map[string]*Proxy }

// NewNetwork returns a network of proxies in front of the servers at addrs. It is closed
// when the test ends.
func NewNetwork(t testing.TB, addrs ...string) *Network {
	t.Helper()
	n := &Network{proxies: make(map[string]*Proxy)}
	for _, addr := range addrs {
		n.proxies[addr] = New(t, addr)
	}
	return n
}

// Dial connects to the proxy of the server at addr. An address without a proxy is dialed
// directly.
func (n *Network) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if p := n.proxies[addr]; p != nil {
		addr = p.Addr()
	}
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}

// Each calls f for every proxy.
func (n *Network) Each(f func(*Proxy)) {
	for _, p := range n.proxies {
		f(p)
	}
}

// Sum adds up f over all proxies.
func (n *Network) Sum(f func(*Proxy) int) (sum int) {
	n.Each(func(p *Proxy) { sum += f(p) })
	return sum
}
