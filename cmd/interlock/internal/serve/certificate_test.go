package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/gateway/config"
)

// certify writes a certificate with a common name, and its key.
func certify(t *testing.T, files *config.TLS, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{files.Cert: {Type: "CERTIFICATE", Bytes: cert}, files.Key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// named returns the common name of the certificate in use.
func named(t *testing.T, c *certificates) string {
	t.Helper()
	now, err := c.config().GetConfigForClient(nil)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(now.NextProtos, " ") != "h2 http/1.1" {
		t.Errorf("the protocols are %q, want h2 and http/1.1", now.NextProtos)
	}
	leaf, err := x509.ParseCertificate(now.Certificates[0].Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return leaf.Subject.CommonName
}

func TestCertificates(t *testing.T) {
	dir := t.TempDir()
	files := &config.TLS{Cert: filepath.Join(dir, "server.crt"), Key: filepath.Join(dir, "server.key")}
	synctest.Test(t, func(t *testing.T) {
		if _, err := newCertificates(files, slog.New(slog.DiscardHandler)); err == nil {
			t.Fatal("newCertificates without a file returned no error")
		}
		certify(t, files, "first")
		var log strings.Builder
		c, err := newCertificates(files, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil || named(t, c) != "first" {
			t.Fatal(err)
		}
		certify(t, files, "the second, whose file is longer")
		if got := named(t, c); got != "first" {
			t.Errorf("before the check interval has passed, the certificate is %s, want first", got)
		}
		time.Sleep(checkInterval)
		if got := named(t, c); got != "the second, whose file is longer" {
			t.Errorf("after a renewal, the certificate is %s, want the second", got)
		}
		if err := os.WriteFile(files.Cert, []byte("half a certif"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(checkInterval)
		if got := named(t, c); got != "the second, whose file is longer" || !strings.Contains(log.String(), "the previous one stays in use") {
			t.Errorf("with an invalid file, the certificate is %s, want the second and a warning in the log:\n%s", got, &log)
		}
		certify(t, files, "third")
		use, err := c.replace(files)
		if err != nil || named(t, c) == "third" {
			t.Errorf("the certificate is in use before use was called: %v", err)
		}
		use()
		if got := named(t, c); got != "third" {
			t.Errorf("after a reload, the certificate is %s, want third", got)
		}
	})
}
