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

// rootsWith returns the system's root certificates and those in ca. It returns nil, which
// means the system's, if ca is empty.
func rootsWith(ca []byte) (*x509.CertPool, error) {
	if ca == nil {
		return nil, nil //nolint:nilnil // as in tls.Config
	}
	// The file adds to the system's roots. On a system without any, it stands alone.
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("gateway: ca: the file contains no PEM certificate")
	}
	return roots, nil
}

// newTransport returns the transport of an upstream. It ignores HTTP_PROXY, which is for
// clients. It does not add Accept-Encoding: compression is up to client and upstream.
func newTransport(u config.Upstream, roots *x509.CertPool) *http.Transport {
	connect := cmp.Or(u.Connect, 3*time.Second)
	dialer := &net.Dialer{Timeout: connect, KeepAlive: 15 * time.Second}
	protocols := &http.Protocols{}
	// net/http speaks unencrypted HTTP/2 only if HTTP/1 is off.
	protocols.SetHTTP1(!u.H2C)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(u.H2C)
	return &http.Transport{
		DialContext:           counting(dialer.DialContext),
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, InsecureSkipVerify: u.Insecure}, //nolint:gosec // only if the file says insecure
		TLSHandshakeTimeout:   connect,
		ResponseHeaderTimeout: cmp.Or(u.Answer, time.Minute),
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       cmp.Or(u.Idle, 90*time.Second),
		MaxIdleConns:          0, // bounded per host
		MaxIdleConnsPerHost:   256,
		DisableCompression:    true,
		Protocols:             protocols,
	}
}
