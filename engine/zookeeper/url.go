package zookeeper

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// An address is a parsed URL.
type address struct {
	settings
	hosts    []string // with ports
	user     string
	password string
	tls      *tls.Config // nil without TLS
}

// parameters are the known query parameters.
var parameters = map[string]func(a *address, value string) error{
	"timeout":  func(a *address, v string) (err error) { a.timeout, err = durationOf(v); return err },
	"session":  func(a *address, v string) (err error) { a.session, err = durationOf(v); return err },
	"lazy":     func(a *address, v string) (err error) { a.lazy, err = boolOf(v); return err },
	"tls_ca":   caParameter,
	"tls_name": nameParameter,
}

// defaultPort is the port of a server without TLS, tlsPort the usual one with TLS.
const (
	defaultPort = "2181"
	tlsPort     = "2281"
)

// parse reads a URL. Its errors do not repeat the URL, which may hold a password.
func parse(text string) (*address, error) {
	first, others := split(text)
	u, err := url.Parse(first)
	if err != nil {
		return nil, errURL
	}
	a := &address{settings: settings{root: defaultRoot, timeout: defaultTimeout, session: defaultSession}}
	err = errors.Join(a.scheme(u), a.servers(u, others), a.path(u), a.parameters(u))
	switch {
	case err != nil && u.User == nil && strings.Contains(text, "@"): // a part of the password may look like a path
		return nil, errURL
	case err != nil:
		return nil, fmt.Errorf("zookeeper: the URL %w", err)
	}
	return a, nil
}

var errURL = errors.New("zookeeper: the URL cannot be read: it looks like zk://user:password@host1:2181,host2:2181/interlock, " +
	"with special characters escaped, as %40 for @")

// split returns the URL with its first host, and the other hosts: package url knows only
// one.
func split(text string) (first string, others []string) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return text, nil
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	// The last @ ends the user: a password may contain one that is not escaped.
	begin := strings.LastIndexByte(rest[:end], '@') + 1
	hosts := strings.Split(rest[begin:end], ",")
	return scheme + "://" + rest[:begin] + hosts[0] + rest[end:], hosts[1:]
}

func (a *address) scheme(u *url.URL) error {
	switch u.Scheme {
	case "zk":
		return nil
	case "zks":
		a.tls = &tls.Config{MinVersion: tls.VersionTLS12} // each server has its own name; see dialer
		return nil
	}
	return fmt.Errorf("begins with %q: begin it with zk://, or with zks:// for TLS", u.Scheme+":")
}

// servers reads the hosts, and the user.
func (a *address) servers(u *url.URL, others []string) error {
	if u.Hostname() == "" {
		return errors.New("names no server: it looks like zk://host1:2181,host2:2181,host3:2181")
	}
	a.user = u.User.Username()
	a.password, _ = u.User.Password()
	for _, h := range append([]string{u.Host}, others...) {
		host, err := url.Parse("zk://" + h)
		if err != nil || host.Hostname() == "" || host.Path != "" || host.User != nil {
			return fmt.Errorf("has the invalid host %q: hosts look like host1:2181,host2:2181", h)
		}
		port := host.Port()
		if port == "" && a.tls != nil {
			port = tlsPort
		} else if port == "" {
			port = defaultPort
		}
		a.hosts = append(a.hosts, net.JoinHostPort(host.Hostname(), port))
	}
	return nil
}

// path reads the root.
func (a *address) path(u *url.URL) error {
	path := strings.TrimRight(u.Path, "/")
	if path == "" {
		return nil
	}
	a.root = path
	if err := checkRoot(path); err != nil {
		return fmt.Errorf("has the invalid root %w", err)
	}
	return nil
}

// parameters reads the query. An unknown parameter is an error, because a misspelt
// timeout would go unnoticed.
func (a *address) parameters(u *url.URL) error {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("has parameters that cannot be read: they look like ?timeout=2s&session=6s")
	}
	for name, values := range query {
		set, ok := parameters[name]
		if !ok {
			return fmt.Errorf("has the unknown parameter %q: known are lazy, session, timeout, tls_ca and tls_name", name)
		}
		if err := set(a, values[len(values)-1]); err != nil {
			return fmt.Errorf("has a bad %s: %w", name, err)
		}
	}
	return nil
}

// durationOf reads a duration above zero.
func durationOf(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a duration such as 2s or 500ms", v)
	}
	return d, nil
}

func boolOf(v string) (bool, error) {
	b, err := strconv.ParseBool(v)
	if err != nil {
		return false, fmt.Errorf("%q is neither true nor false", v)
	}
	return b, nil
}

// caParameter trusts only the certificates of a file, instead of the system's.
func caParameter(a *address, v string) error {
	if a.tls == nil {
		return errors.New("it needs zks://")
	}
	pem, err := os.ReadFile(v)
	if err != nil {
		return err
	}
	a.tls.RootCAs = x509.NewCertPool()
	if !a.tls.RootCAs.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s holds no certificate", v)
	}
	return nil
}

func nameParameter(a *address, v string) error {
	if a.tls == nil {
		return errors.New("it needs zks://")
	}
	a.tls.ServerName = v
	return nil
}

// acl returns who may read and change the nodes: the user of the URL, or everybody.
func (a *address) acl() []zk.ACL {
	if a.user != "" {
		return zk.AuthACL(zk.PermAll)
	}
	return zk.WorldACL(zk.PermAll)
}

// connect opens one connection.
func (a *address) connect(network, addr string, timeout time.Duration) (net.Conn, error) {
	d := &net.Dialer{Timeout: timeout}
	if a.tls == nil {
		return d.Dial(network, addr)
	}
	return tls.DialWithDialer(d, network, addr, a.tls)
}

// sorted returns the servers in the order of their names, for reports.
func (a *address) sorted() []string { return slices.Sorted(slices.Values(a.hosts)) }
