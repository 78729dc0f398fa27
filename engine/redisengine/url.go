package redisengine

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
)

// An address is what a URL says about a server and how to use it.
type address struct {
	host     string // with port
	user     string
	password string
	db       int
	tls      *tls.Config // nil without TLS
	client   string      // the connection's name
	dial     time.Duration
	options  []Option
}

// parameters are what may stand behind the question mark.
var parameters = map[string]func(a *address, value string) error{
	"timeout":      timeoutParameter,
	"dial_timeout": func(a *address, v string) (err error) { a.dial, err = duration(v); return err },
	"client_name":  func(a *address, v string) error { a.client = v; return nil },
	"prefix":       func(a *address, v string) error { a.options = append(a.options, Prefix(v)); return nil },
	"records":      recordsParameter,
	"publish":      publishParameter,
	"redisson":     redissonParameter,
	"tls_ca":       caParameter,
	"tls_name":     nameParameter,
}

// parse reads a URL. No error repeats it, since it may hold a password.
func parse(text string) (*address, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("redis: the URL cannot be read: it looks like redis://user:password@host:6379/0, " +
			"with special characters escaped, as %40 for @")
	}
	a := &address{client: "interlock", dial: 2 * time.Second}
	for _, read := range []func(*url.URL) error{a.scheme, a.server, a.database, a.parameters} {
		if err := read(u); err != nil {
			return nil, fmt.Errorf("redis: the URL %w", err)
		}
	}
	return a, nil
}

func (a *address) scheme(u *url.URL) error {
	switch u.Scheme {
	case "redis":
	case "rediss":
		a.tls = &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}
	case "redis+sentinel", "redis+cluster":
		return fmt.Errorf("asks for %s, which is not supported yet: use redis:// with the address of one primary", u.Scheme)
	default:
		return fmt.Errorf("begins with %q: it must be redis:// or rediss://", u.Scheme+":")
	}
	return nil
}

func (a *address) server(u *url.URL) error {
	if u.Hostname() == "" {
		return errors.New("names no server: it looks like redis://host:6379")
	}
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	a.host = net.JoinHostPort(u.Hostname(), port)
	a.user = u.User.Username()
	a.password, _ = u.User.Password()
	return nil
}

func (a *address) database(u *url.URL) error {
	path := strings.Trim(u.Path, "/")
	if path == "" {
		return nil
	}
	db, err := strconv.Atoi(path)
	if err != nil || db < 0 {
		return fmt.Errorf("asks for the database %q: it must be a number, as in redis://host/0", path)
	}
	a.db = db
	return nil
}

func (a *address) parameters(u *url.URL) error {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("has parameters that cannot be read: they look like ?timeout=2s&client_name=shop")
	}
	for name, values := range query {
		set, ok := parameters[name]
		if !ok {
			return fmt.Errorf("has the unknown parameter %q: known are %s", name, known())
		}
		if err := set(a, values[len(values)-1]); err != nil {
			return fmt.Errorf("has a bad %s: %w", name, err)
		}
	}
	return nil
}

func known() string {
	names := make([]string, 0, len(parameters))
	for name := range parameters {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func duration(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no duration such as 2s or 500ms", v)
	}
	return d, nil
}

func timeoutParameter(a *address, v string) error {
	d, err := duration(v)
	a.options = append(a.options, Timeout(d))
	return err
}

func recordsParameter(a *address, v string) error {
	if err := unfitRecords(v); err != nil {
		return err
	}
	a.options = append(a.options, Records(v))
	return nil
}

func publishParameter(a *address, v string) error {
	m := PublishMode(strings.ToUpper(v))
	if m != Plain && m != Sharded {
		return fmt.Errorf("%q is neither publish nor spublish", v)
	}
	a.options = append(a.options, Publish(m))
	return nil
}

func redissonParameter(a *address, v string) error {
	shared, err := strconv.ParseBool(v)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", v)
	}
	if shared {
		a.options = append(a.options, Redisson())
	}
	return nil
}

func caParameter(a *address, v string) error {
	if a.tls == nil {
		return errors.New("it needs rediss://")
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
		return errors.New("it needs rediss://")
	}
	a.tls.ServerName = v
	return nil
}
