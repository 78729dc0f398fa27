package admin

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/interlock-go/interlock/gateway/config"
)

// ErrExposed means that other machines could reach the API without a token or without
// TLS.
var ErrExposed = errors.New("admin: the API would be exposed")

// CheckListen refuses an address that is not loopback if the API has no tokens or no TLS,
// unless Insecure is set. Otherwise other machines could change locks, or read tokens from
// the network.
func CheckListen(cfg *config.Admin) error {
	host, _, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return fmt.Errorf("admin: %q is not a listen address: write it like %q", cfg.Listen, "127.0.0.1:7070")
	}
	// A name other than localhost counts as exposed: it may resolve to any address later.
	if ip, err := netip.ParseAddr(host); host == "localhost" || err == nil && ip.Unmap().IsLoopback() {
		return nil
	}
	switch {
	case cfg.Insecure:
		return nil
	case len(cfg.Tokens) == 0:
		return fmt.Errorf("%w: other machines can reach %s, and there are no tokens: add admin.tokens, or listen on 127.0.0.1", ErrExposed, cfg.Listen)
	case cfg.TLS == nil:
		return fmt.Errorf("%w: other machines can reach %s, and tokens would cross the network in the clear: add admin.tls, or listen on 127.0.0.1", ErrExposed, cfg.Listen)
	}
	return nil
}
