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

	"github.com/interlock-go/interlock/engine"
)

// An address is a parsed URL.
type address struct {
	topology    engine.Topology
	hosts       []string // with ports: the server, nodes of the cluster, or the sentinels
	user        string
	password    string
	db          int
	tls         *tls.Config // nil without TLS
	client      string      // the connection's name
	dialTimeout time.Duration
	options     []Option

	main             string // the name by which the sentinels know the primary
	sentinelUser     string
	sentinelPassword string

	refresh   time.Duration // how often to look for the primaries
	redirects int           // how many redirects a call follows
}

// parameters are the known query parameters. They are read after the scheme and the path,
// so each may check the topology.
var parameters = map[string]func(a *address, value string) error{
	"timeout":      timeoutParameter,
	"dial_timeout": func(a *address, v string) (err error) { a.dialTimeout, err = duration(v); return err },
	"client_name":  func(a *address, v string) error { a.client = v; return nil },
	"prefix":       func(a *address, v string) error { a.options = append(a.options, Prefix(v)); return nil },
	"records":      recordsParameter,
	"publish":      publishParameter,
	"acks":         acksParameter,
	"ack_timeout":  ackTimeoutParameter,
	"redisson":     flagParameter(Redisson),
	"lazy":         flagParameter(Lazy),
	"tls_ca":       caParameter,
	"tls_name":     nameParameter,

	"sentinel_user":     sentinelParameter(func(a *address, v string) { a.sentinelUser = v }),
	"sentinel_password": sentinelParameter(func(a *address, v string) { a.sentinelPassword = v }),
	"refresh":           refreshParameter,
	"redirects":         redirectsParameter,
}

// Defaults of refresh and redirects.
const (
	// defaultRefresh is also how old cached slots and replica counts may be.
	defaultRefresh = 2 * time.Second
	// A call to a slot that has just moved needs one redirect. It needs more only while
	// slots keep moving.
	defaultRedirects = 3
)

// parse reads a URL. Its errors do not repeat the URL, which may hold a password.
func parse(text string) (*address, error) {
	text, others := split(text)
	u, err := url.Parse(text)
	if err != nil {
		return nil, errURL
	}
	a := &address{client: "interlock", dialTimeout: 2 * time.Second, refresh: defaultRefresh, redirects: defaultRedirects}
	// The scheme comes first: the default port, the path and the parameters depend on it.
	for _, read := range []func(*url.URL) error{a.scheme, a.server, a.others(others), a.path, a.parameters} {
		err := read(u)
		switch {
		case err != nil && u.User == nil && strings.Contains(text, "@"): // an unescaped /, ? or # in the password ended the host, so u has no user
			return nil, errURL
		case err != nil:
			return nil, fmt.Errorf("redis: the URL %w", err)
		}
	}
	return a, nil
}

var errURL = errors.New("redis: the URL cannot be read: write it like redis://user:password@host:6379/0, " +
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
	// The last @ ends the user and password: a password may contain an unescaped @.
	begin := strings.LastIndexByte(rest[:end], '@') + 1
	hosts := strings.Split(rest[begin:end], ",")
	return scheme + "://" + rest[:begin] + hosts[0] + rest[end:], hosts[1:]
}

// schemes are the known schemes without TLS.
var schemes = map[string]engine.Topology{
	"redis": engine.Standalone, "redis+sentinel": engine.Sentinel, "redis+cluster": engine.Cluster,
}

// scheme reads the topology, and whether to use TLS.
func (a *address) scheme(u *url.URL) error {
	scheme, secure := u.Scheme, false
	if rest, ok := strings.CutPrefix(scheme, "rediss"); ok {
		scheme, secure = "redis"+rest, true
	}
	if *u == (url.URL{}) { // often a variable that is not set
		return errors.New("is empty: write it like redis://localhost:6379")
	}
	if a.topology = schemes[scheme]; a.topology == "" {
		return fmt.Errorf("begins with %q: begin it with redis://, redis+sentinel:// or redis+cluster://, or with rediss for TLS", u.Scheme+":")
	}
	if secure {
		a.tls = &tls.Config{MinVersion: tls.VersionTLS12}
		if a.topology == engine.Standalone { // otherwise each server has its own name
			a.tls.ServerName = u.Hostname()
		}
	}
	return nil
}

// server reads the first host, and the user and password for all.
func (a *address) server(u *url.URL) error {
	if u.Hostname() == "" {
		return fmt.Errorf("names no server: write it like %s://host:%s", u.Scheme, a.port())
	}
	port := u.Port()
	if port == "" {
		port = a.port()
	}
	a.hosts = []string{net.JoinHostPort(u.Hostname(), port)}
	a.user = u.User.Username()
	a.password, _ = u.User.Password()
	return nil
}

// port returns the default port.
func (a *address) port() string {
	if a.topology == engine.Sentinel {
		return "26379"
	}
	return "6379"
}

// others reads the hosts after the first.
func (a *address) others(hosts []string) func(*url.URL) error {
	return func(*url.URL) error {
		if len(hosts) > 0 && a.topology == engine.Standalone {
			return errors.New("names several servers: begin with redis+sentinel:// or redis+cluster:// if they belong together; " +
				"for independent servers, see package quorum")
		}
		for _, h := range hosts {
			u, err := url.Parse("redis://" + h)
			if err != nil || u.Hostname() == "" || u.Path != "" || u.User != nil {
				return fmt.Errorf("has the invalid host %q: hosts look like host1:%[2]s,host2:%[2]s", h, a.port())
			}
			port := u.Port()
			if port == "" {
				port = a.port()
			}
			a.hosts = append(a.hosts, net.JoinHostPort(u.Hostname(), port))
		}
		return nil
	}
}

// path reads the sentinels' name of the primary, and the database.
func (a *address) path(u *url.URL) error {
	path := strings.Trim(u.Path, "/")
	if a.topology == engine.Sentinel {
		if a.main, path, _ = strings.Cut(path, "/"); a.main == "" {
			return errors.New("does not name the primary of the sentinels: write it like redis+sentinel://host1,host2,host3/mymaster/0")
		}
	}
	if path == "" {
		return nil
	}
	db, err := strconv.Atoi(path)
	if err != nil || db < 0 {
		return fmt.Errorf("has the invalid database %q: it must be a number, as in redis://host/0", path)
	}
	if a.topology == engine.Cluster && db > 0 {
		return fmt.Errorf("has the database %d: a cluster has only one; omit it, and separate data by a prefix", db)
	}
	a.db = db
	return nil
}

// parameters reads the query. An unknown parameter is an error. Otherwise a misspelt
// timeout would go unnoticed.
func (a *address) parameters(u *url.URL) error {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("has parameters that cannot be read: write them like ?timeout=2s&client_name=shop")
	}
	for name, values := range query {
		set, ok := parameters[name]
		if !ok {
			return fmt.Errorf("has the unknown parameter %q: known are %s", name, parameterNames())
		}
		if err := set(a, values[len(values)-1]); err != nil {
			return fmt.Errorf("has a bad %s: %w", name, err)
		}
	}
	return nil
}

// parameterNames lists the known parameters for an error text.
func parameterNames() string {
	names := make([]string, 0, len(parameters))
	for name := range parameters {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// duration reads a duration above zero.
func duration(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a duration such as 2s or 500ms", v)
	}
	return d, nil
}

func timeoutParameter(a *address, v string) error {
	d, err := duration(v)
	a.options = append(a.options, Timeout(d))
	return err
}

func recordsParameter(a *address, v string) error {
	if err := checkRecords(v); err != nil {
		return err
	}
	a.options = append(a.options, Records(v))
	return nil
}

func publishParameter(a *address, v string) error {
	m := PublishMode(strings.ToUpper(v))
	if v == "auto" {
		m = Auto
	}
	if m != Plain && m != Sharded && m != Auto {
		return fmt.Errorf("%q is not one of auto, publish and spublish", v)
	}
	a.options = append(a.options, Publish(m))
	return nil
}

// flagParameter returns a parameter that switches an option on.
func flagParameter(option func() Option) func(*address, string) error {
	return func(a *address, v string) error {
		enabled, err := strconv.ParseBool(v)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", v)
		}
		if enabled {
			a.options = append(a.options, option())
		}
		return nil
	}
}

// caParameter trusts only the certificates of a file, instead of the system's.
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

func acksParameter(a *address, v string) error {
	k := Acks(v)
	if err := k.check(); err != nil {
		return err
	}
	a.options = append(a.options, Acknowledge(k))
	return nil
}

func ackTimeoutParameter(a *address, v string) error {
	d, err := duration(v)
	a.options = append(a.options, AckTimeout(d))
	return err
}

// sentinelParameter returns a parameter that only URLs of sentinels may have. Sentinels have
// users and passwords of their own, apart from those of the servers.
func sentinelParameter(set func(*address, string)) func(*address, string) error {
	return func(a *address, v string) error {
		if a.topology != engine.Sentinel {
			return errors.New("it needs redis+sentinel://")
		}
		set(a, v)
		return nil
	}
}

func refreshParameter(a *address, v string) (err error) {
	if a.topology == engine.Standalone {
		return errors.New("it needs redis+sentinel:// or redis+cluster://: a single server has no primaries to look for")
	}
	a.refresh, err = duration(v)
	return err
}

func redirectsParameter(a *address, v string) error {
	if a.topology != engine.Cluster {
		return errors.New("it needs redis+cluster://: other servers do not redirect calls")
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		return fmt.Errorf("%q is not a number above zero", v)
	}
	a.redirects = n
	return nil
}
