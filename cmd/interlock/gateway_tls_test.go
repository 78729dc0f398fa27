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

// A gateway speaks TLS and HTTP/2, and has its certificate read again with its file.
func TestServeTLS(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	dir := t.TempDir()
	certify(t, dir, "first")
	name := file(t, strings.Replace(officeHead, "admin: 127.0.0.1:0\n", "admin: {listen: 127.0.0.1:0, tls: {cert: %[2]s/server.crt, key: %[2]s/server.key}}\n", 1)+
		officeRules+"tls: {cert: %[2]s/server.crt, key: %[2]s/server.key}\n", o.URL, dir)
	g := openGate(t, "serve", "--config", name)
	for _, url := range []string{g.url, g.admin} {
		if !strings.HasPrefix(url, "https://") {
			t.Errorf("it is at %s", url)
		}
	}
	if proto, whose := shows(t, g.url+"/"); proto != "HTTP/2.0" || whose != "first" {
		t.Errorf("it speaks %s, and shows the certificate of %s", proto, whose)
	}
	if proto, whose := shows(t, g.admin+"/readyz"); proto != "HTTP/2.0" || whose != "first" {
		t.Errorf("the admin API speaks %s, and shows the certificate of %s", proto, whose)
	}
	certify(t, dir, "second")
	if err := g.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	await(t, "the new certificate is shown", func() bool { _, whose := shows(t, g.url+"/"); return whose == "second" })
	if err := os.WriteFile(filepath.Join(dir, "server.crt"), []byte("half a cert"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	await(t, "it complains", func() bool { return g.logged("not reloaded: what was there before stays") != nil })
	if _, whose := shows(t, g.url+"/"); whose != "second" {
		t.Errorf("with a broken file it shows %s", whose)
	}
}

// shows asks once, on a connection of its own, and returns the protocol and whose
// certificate it was.
func shows(t *testing.T, url string) (proto, whose string) {
	t.Helper()
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // it is looked at
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport, Timeout: 20 * time.Second}).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", url, resp.Status)
	}
	return resp.Proto, resp.TLS.PeerCertificates[0].Subject.CommonName
}

// certify writes a certificate in somebody's name, and its key.
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
