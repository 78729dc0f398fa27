package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// An address is a parsed URL.
type address struct {
	endpoints   []string
	user        string
	password    string
	tls         *tls.Config // nil without TLS
	cert, key   string
	dialTimeout time.Duration
	options     []Option
}

// parameters are the known query parameters.
var parameters = map[string]func(a *address, value string) error{
	"timeout": func(a *address, v string) error {
		d, err := duration(v)
		a.options = append(a.options, Timeout(d))
		return err
	},
	"dial_timeout": func(a *address, v string) (err error) { a.dialTimeout, err = duration(v); return err },
	"prefix":       func(a *address, v string) error { a.options = append(a.options, Prefix(v)); return nil },
	"lazy":         lazyParameter,
	"tls_ca":       caParameter,
	"tls_cert":     tlsParameter(func(a *address, v string) { a.cert = v }),
	"tls_key":      tlsParameter(func(a *address, v string) { a.key = v }),
	"tls_name":     tlsParameter(func(a *address, v string) { a.tls.ServerName = v }),
}

// parseURL reads a URL. Its errors do not repeat the URL, which may hold a password.
func parseURL(text string) (*address, error) {
	text, others := split(text)
	u, err := url.Parse(text)
	if err != nil {
		return nil, errURL
	}
	a := &address{dialTimeout: 2 * time.Second}
	err = a.read(u, others)
	switch {
	case err != nil && u.User == nil && strings.Contains(text, "@"): // a part of the password may look like a path
		return nil, errURL
	case err != nil:
		return nil, fmt.Errorf("etcd: the URL %w", err)
	}
	return a, nil
}

var errURL = errors.New("etcd: the URL cannot be read: write it like etcd://user:password@host:2379, " +
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

// read reads the parts of the URL.
func (a *address) read(u *url.URL, others []string) error {
	if u.Scheme == "etcds" {
		a.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	switch {
	case *u == (url.URL{}): // often a variable that is not set
		return errors.New("is empty: write it like etcd://localhost:2379")
	case u.Scheme != "etcd" && u.Scheme != "etcds":
		return fmt.Errorf("begins with %q: begin it with etcd://, or with etcds:// for TLS", u.Scheme+":")
	case strings.Trim(u.Path, "/") != "":
		return fmt.Errorf("has the path %q: set the prefix of the keys with ?prefix=", u.Path)
	}
	if u.User != nil {
		a.user = u.User.Username()
		a.password, _ = u.User.Password()
	}
	for _, host := range append([]string{u.Host}, others...) {
		if err := a.endpoint(host); err != nil {
			return err
		}
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil { // the error quotes a part that may be secret
		return errors.New("has parameters that cannot be read: separate them with &, and escape special characters, as %25 for %")
	}
	return a.query(query)
}

// endpoint adds a member.
func (a *address) endpoint(host string) error {
	if host == "" {
		return errors.New("lacks a host: write it like etcd://host1:2379,host2:2379")
	}
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), "2379")
	}
	scheme := "http://"
	if a.tls != nil {
		scheme = "https://"
	}
	a.endpoints = append(a.endpoints, scheme+host)
	return nil
}

// query reads the parameters.
func (a *address) query(q url.Values) error {
	for name, values := range q {
		read, known := parameters[name]
		if !known {
			return fmt.Errorf("has the unknown parameter %q", name)
		}
		if err := read(a, values[len(values)-1]); err != nil {
			return fmt.Errorf("has an invalid %s: %w", name, err)
		}
	}
	return a.certificate()
}

// certificate loads the client's certificate.
func (a *address) certificate() error {
	if a.cert == "" && a.key == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(a.cert, a.key)
	if err != nil {
		return fmt.Errorf("names a certificate that cannot be used; set tls_cert and tls_key: %w", err)
	}
	a.tls.Certificates = []tls.Certificate{pair}
	return nil
}

func duration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil && d <= 0 {
		err = fmt.Errorf("%v is not above zero", d)
	}
	return d, err
}

func lazyParameter(a *address, v string) error {
	lazy, err := strconv.ParseBool(v)
	if err == nil && lazy {
		a.options = append(a.options, Lazy())
	}
	return err
}

// tlsParameter returns a parameter that needs TLS.
func tlsParameter(set func(a *address, v string)) func(*address, string) error {
	return func(a *address, v string) error {
		if a.tls == nil {
			return errors.New("it is for TLS: begin the URL with etcds://")
		}
		set(a, v)
		return nil
	}
}

func caParameter(a *address, v string) error {
	if a.tls == nil {
		return errors.New("it is for TLS: begin the URL with etcds://")
	}
	text, err := os.ReadFile(v)
	if err != nil {
		return err
	}
	a.tls.RootCAs = x509.NewCertPool()
	if !a.tls.RootCAs.AppendCertsFromPEM(text) {
		return fmt.Errorf("%s has no certificate", v)
	}
	return nil
}
