package main_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A gateway serves TLS and HTTP/2, and a reload reads its certificate again.
func TestServeTLS(t *testing.T) {
	t.Parallel()
	o := startService(t)
	dir := t.TempDir()
	certify(t, dir, "first")
	name := file(t, strings.Replace(serviceHead, "admin: 127.0.0.1:0\n", "admin: {listen: 127.0.0.1:0, tls: {cert: %[2]s/server.crt, key: %[2]s/server.key}}\n", 1)+
		serviceRules+"tls: {cert: %[2]s/server.crt, key: %[2]s/server.key}\n", o.URL, dir)
	g := startGateway(t, "serve", "--config", name)
	for _, url := range []string{g.url, g.admin} {
		if !strings.HasPrefix(url, "https://") {
			t.Errorf("the URL is %s, want https", url)
		}
	}
	if proto, name := probeTLS(t, g.url+"/"); proto != "HTTP/2.0" || name != "first" {
		t.Errorf("got protocol %s and certificate %s, want HTTP/2.0 and first", proto, name)
	}
	if proto, name := probeTLS(t, g.admin+"/readyz"); proto != "HTTP/2.0" || name != "first" {
		t.Errorf("the admin API: got protocol %s and certificate %s, want HTTP/2.0 and first", proto, name)
	}
	certify(t, dir, "second")
	if err := g.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	await(t, "the new certificate is in use", func() bool { _, name := probeTLS(t, g.url+"/"); return name == "second" })
	if err := os.WriteFile(filepath.Join(dir, "server.crt"), []byte("half a cert"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	await(t, "the reload fails", func() bool { return g.logged(reloadFailed) != nil })
	if _, name := probeTLS(t, g.url+"/"); name != "second" {
		t.Errorf("with an invalid file, the certificate is %s, want second", name)
	}
}

// probeTLS sends a request on a new connection, and returns the protocol and the common
// name of the certificate.
func probeTLS(t *testing.T, url string) (proto, name string) {
	t.Helper()
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // the test checks it
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport, Timeout: 2 * time.Minute}).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: got %s, want 200", url, resp.Status)
	}
	return resp.Proto, resp.TLS.PeerCertificates[0].Subject.CommonName
}

// certify writes a certificate with a common name, and its key.
func certify(t *testing.T, dir, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{"server.crt": {Type: "CERTIFICATE", Bytes: cert}, "server.key": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
