package gateway

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/interlock-go/interlock/gateway/config"
)

// rootsWith returns the certificates that are believed, or nil for the system's.
func rootsWith(ca []byte) (*x509.CertPool, error) {
	if ca == nil {
		return nil, nil //nolint:nilnil // as tls.Config has it
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("gateway: ca: the file holds no certificate in PEM")
	}
	return roots, nil
}

// newTransport returns what requests are sent with. It asks no proxy of the
// environment, and does not touch what is sent: compression is for those at the ends.
func newTransport(u config.Upstream, roots *x509.CertPool) *http.Transport {
	connect := cmp.Or(u.Connect, 3*time.Second)
	dialer := &net.Dialer{Timeout: connect, KeepAlive: 15 * time.Second}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(!u.H2C)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(u.H2C)
	return &http.Transport{
		DialContext:           counted(dialer.DialContext),
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, InsecureSkipVerify: u.Insecure}, //nolint:gosec // if the file says so
		TLSHandshakeTimeout:   connect,
		ResponseHeaderTimeout: cmp.Or(u.Answer, time.Minute),
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       cmp.Or(u.Idle, 90*time.Second),
		MaxIdleConns:          0, // bounded for each host
		MaxIdleConnsPerHost:   256,
		DisableCompression:    true,
		Protocols:             protocols,
	}
}
