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

// checkInterval is how often the files are checked for a renewed certificate. Tools such
// as certbot replace the files without a signal.
const checkInterval = 5 * time.Second

// certificates holds the certificate of a listener and reloads it when its files change.
// An invalid file is logged, and the previous certificate stays in use.
type certificates struct {
	log *slog.Logger

	mu       sync.Mutex   // guards the fields below; never held while files are read
	files    config.TLS   // a reload may name other files
	versions fileVersions // of the files that active was loaded from
	checked  time.Time    // when a connection last checked the files
	active   *tls.Config  // replaced as a whole, never modified
}

// fileVersions detects changed files by their modification times and sizes. They are the
// certificate, the key and the client CA; a missing file is zero.
type fileVersions [3]struct {
	at   time.Time
	size int64
}

// newCertificates fails if the first certificate is invalid: there is no previous one
// to keep.
func newCertificates(files *config.TLS, log *slog.Logger) (*certificates, error) {
	c := &certificates{log: log}
	use, err := c.replace(files)
	if err != nil {
		return nil, err
	}
	use()
	return c, nil
}

// config returns the configuration of a server. Each connection gets the current
// certificate.
func (c *certificates) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current(), nil },
	}
}

// protocols offers HTTP/2. The server adds HTTP/2 to its own configuration, but
// GetConfigForClient replaces that configuration.
var protocols = []string{"h2", "http/1.1"}

// replace loads a certificate from files, which may have other names than before. The
// caller puts it in use by calling use, after everything else of a reload succeeded.
func (c *certificates) replace(files *config.TLS) (use func(), err error) {
	s := versionsOf(files) // before reading, so that a change during it is noticed later
	next, err := gateway.TLSConfig(files)
	if err != nil {
		return nil, err
	}
	next.NextProtos = protocols
	next.SessionTicketsDisabled = files.ClientCA != "" // a resumed session would skip the check of a revoked client CA
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.files, c.versions, c.active, c.checked = *files, s, next, time.Now()
	}, nil
}

// current returns the certificate in use. It checks the files once per checkInterval.
func (c *certificates) current() *tls.Config {
	c.mu.Lock()
	files, loaded, due := c.files, c.versions, time.Since(c.checked) >= checkInterval
	if due {
		c.checked = time.Now() // this connection checks the files; others do not wait for it
	}
	c.mu.Unlock()
	if due && versionsOf(&files) != loaded {
		// After a failure, versions stays as it was, so the next check tries again. A
		// tool may have replaced only one of two files yet.
		if use, err := c.replace(&files); err != nil {
			c.log.Error("new certificate is invalid; the previous one stays in use", "file", files.Cert, "err", err)
		} else {
			use()
			c.log.Info("new certificate in use", "file", files.Cert)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.active
}

// versionsOf does not read the files: it runs during handshakes.
func versionsOf(files *config.TLS) (s fileVersions) {
	for i, name := range []string{files.Cert, files.Key, files.ClientCA} {
		if info, err := os.Stat(name); name != "" && err == nil {
			s[i].at, s[i].size = info.ModTime(), info.Size()
		}
	}
	return s
}
