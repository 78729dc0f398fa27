package admin

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/interlock-go/interlock/gateway/config"
)

// ErrExposed means that the API would be reached from elsewhere, and asks for no token
// or speaks no TLS.
var ErrExposed = errors.New("admin: it would be open to others")

// CheckListen refuses a configuration with which others than those on this machine
// could change things, or read tokens on the way: anything but the loopback needs
// tokens and TLS, unless it says in so many words that it is to be insecure.
func CheckListen(cfg *config.Admin) error {
	host, _, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return fmt.Errorf("admin: %q is no address to listen at: write it like %q", cfg.Listen, "127.0.0.1:7070")
	}
	if ip, err := netip.ParseAddr(host); host == "localhost" || err == nil && ip.Unmap().IsLoopback() {
		return nil
	}
	switch {
	case cfg.Insecure:
		return nil
	case len(cfg.Tokens) == 0:
		return fmt.Errorf("%w: %s can be reached from other machines, and no token is asked for: add admin.tokens, or listen at 127.0.0.1", ErrExposed, cfg.Listen)
	case cfg.TLS == nil:
		return fmt.Errorf("%w: %s can be reached from other machines, and tokens would be read on the way: add admin.tls, or listen at 127.0.0.1", ErrExposed, cfg.Listen)
	}
	return nil
}
