package serve

import (
	"crypto/tls"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/interlock-go/interlock/gateway"
	"github.com/interlock-go/interlock/gateway/config"
)

// lookEvery is how often it is looked whether certificates were renewed: programs do
// that on their own, and tell nobody.
const lookEvery = 5 * time.Second

// certificates are those of a listener, as they are in their files now. If what is
// there cannot be used, those from before stay.
type certificates struct {
	log *slog.Logger

	mu     sync.Mutex
	files  config.TLS
	stamp  stamp
	looked time.Time
	now    *tls.Config
}

// A stamp tells whether files are others than before.
type stamp [3]struct {
	at   time.Time
	size int64
}

func newCertificates(files *config.TLS, log *slog.Logger) (*certificates, error) {
	c := &certificates{log: log}
	use, err := c.replace(files)
	if err != nil {
		return nil, err
	}
	use()
	return c, nil
}

// config is that of a server, which asks for each connection.
func (c *certificates) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current(), nil },
	}
}

var protocols = []string{"h2", "http/1.1"}

// replace reads certificates from files, maybe others than before. They are used once
// what it returns is called.
func (c *certificates) replace(files *config.TLS) (use func(), err error) {
	s := stampOf(files) // before they are read: what changes meanwhile is noticed next time
	next, err := gateway.TLSConfig(files)
	if err != nil {
		return nil, err
	}
	next.NextProtos = protocols
	next.SessionTicketsDisabled = files.ClientCA != "" // a session would outlive who vouched for it
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.files, c.stamp, c.now, c.looked = *files, s, next, time.Now()
	}, nil
}

// current returns the certificates as they are, and looks after the files from time to
// time.
func (c *certificates) current() *tls.Config {
	c.mu.Lock()
	files, was, due := c.files, c.stamp, time.Since(c.looked) >= lookEvery
	if due {
		c.looked = time.Now() // one looks, and the others do not wait for it
	}
	c.mu.Unlock()
	if due && stampOf(&files) != was {
		if use, err := c.replace(&files); err != nil {
			c.log.Error("the new certificate cannot be used: the one from before stays", "file", files.Cert, "err", err)
		} else {
			use()
			c.log.Info("there is a new certificate", "file", files.Cert)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func stampOf(files *config.TLS) (s stamp) {
	for i, name := range []string{files.Cert, files.Key, files.ClientCA} {
		if info, err := os.Stat(name); name != "" && err == nil {
			s[i].at, s[i].size = info.ModTime(), info.Size()
		}
	}
	return s
}
