package mysql

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"
)

// An address is a parsed URL.
type address struct {
	settings
	config *driver.Config
}

var errURL = errors.New("mysql: the URL cannot be read: it looks like mysql://user:password@host:3306/db, " +
	"with special characters escaped, as %40 for @")

// parse reads a URL. Its errors do not repeat the URL, which may hold a password.
func parse(text string) (*address, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "mysql" && u.Scheme != "mariadb" || u.Opaque != "" || u.Fragment != "" {
		return nil, errURL
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errURL
	}
	a := &address{settings: defaults(), config: driver.NewConfig()}
	c := a.config
	c.DBName = strings.TrimPrefix(u.Path, "/")
	if c.DBName == "" || strings.Contains(c.DBName, "/") {
		return nil, errors.New("mysql: the URL names no database: it looks like mysql://user:password@host:3306/db")
	}
	if strings.Contains(u.Host, ",") {
		return nil, errors.New("mysql: the URL names several servers: name the primary, or a proxy that finds it")
	}
	c.Net, c.Addr = "tcp", net.JoinHostPort(either(u.Hostname(), "127.0.0.1"), either(u.Port(), "3306"))
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	if err := a.parameters(values); err != nil {
		return nil, fmt.Errorf("mysql: the URL %w", err)
	}
	c.InterpolateParams, c.MultiStatements, c.MaxAllowedPacket = true, true, maxPacket
	c.Logger = &driver.NopLogger{}
	c.ConnectionAttributes = "program_name:interlock"
	// The server may have other defaults. If it loses a client in the middle of a transaction
	// without notice, it rolls back after wait_timeout: until then the key stays locked. In a
	// character set such as GBK, the escapes of the driver would not end where it thinks.
	c.Params = map[string]string{
		"autocommit": "1", "completion_type": "0", "innodb_lock_wait_timeout": "1", "wait_timeout": strconv.Itoa(int(idleLimit / time.Second)),
		"sql_mode": "'STRICT_ALL_TABLES'", "character_set_client": "utf8mb4", "character_set_connection": "utf8mb4", "character_set_results": "utf8mb4",
	}
	return a, nil
}

// maxPacket is the largest statement that the driver sends as it is, in bytes. It would
// prepare a larger one, which fails, because that is several statements.
const maxPacket = 64 << 20

// idleLimit is after how long the server closes an idle connection. The pool closes it
// earlier.
const idleLimit = 20 * time.Second

// either returns the first text that is not empty.
func either(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// parameters reads the parameters of a URL.
func (a *address) parameters(values url.Values) error {
	read := map[string]func(string) error{
		"timeout": period(&a.timeout), "poll": period(&a.poll), "pool": a.readPool, "prefix": a.readPrefix,
		"lazy": flag(&a.lazy), "migrate": flag(&a.migrates), "tls": a.readTLS,
	}
	var names []string
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f, ok := read[name]
		if !ok {
			return fmt.Errorf("has an unknown parameter %q: known are lazy, migrate, poll, pool, prefix, timeout and tls", name)
		}
		if err := f(values.Get(name)); err != nil {
			return fmt.Errorf("has an invalid %s: %w", name, err)
		}
	}
	return nil
}

func period(into *time.Duration) func(string) error {
	return func(text string) error {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return fmt.Errorf("%q is not a duration above zero, such as 2s", text)
		}
		*into = d
		return nil
	}
}

func flag(into *bool) func(string) error {
	return func(text string) error {
		on, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		*into = on
		return nil
	}
}

func (a *address) readPool(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		return fmt.Errorf("%q is not a number of connections above zero", text)
	}
	a.conns = n
	return nil
}

func (a *address) readPrefix(text string) error {
	a.prefix = text
	return checkPrefix(text)
}

func (a *address) readTLS(text string) error {
	if !slices.Contains([]string{"true", "false", "skip-verify", "preferred"}, text) {
		return fmt.Errorf("%q is not true, false, skip-verify or preferred", text)
	}
	a.config.TLSConfig = text
	return nil
}
