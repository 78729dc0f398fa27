package gateway

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"net/http"
	"testing"
)

// Certificates with different subjects are different users. A pkix.Name keeps
// only the last of several common names, and writes the attributes in a fixed order, so some
// different subjects would become one user.
func TestDifferentSubjectsAreDifferentUsers(t *testing.T) {
	name := func(id int, value string) pkix.RelativeDistinguishedNameSET {
		return pkix.RelativeDistinguishedNameSET{{Type: asn1.ObjectIdentifier{2, 5, 4, id}, Value: value}}
	}
	users := make(map[string]pkix.RDNSequence)
	for _, subject := range []pkix.RDNSequence{
		{name(3, "ann")},
		{name(3, "eve"), name(3, "ann")},
		{name(10, "shop"), name(3, "ann")},
		{name(3, "ann"), name(10, "shop")},
		{name(11, "a"), name(11, "b")},
		{name(11, "b"), name(11, "a")},
		{name(3, "ann,O=shop")},
	} {
		der, err := asn1.Marshal(subject)
		if err != nil {
			t.Fatal(err)
		}
		c := &x509.Certificate{RawSubject: der}
		c.Subject.FillFromRDNSequence(&subject)
		r := &http.Request{TLS: &tls.ConnectionState{PeerCertificates: []*x509.Certificate{c}, VerifiedChains: [][]*x509.Certificate{{c}}}}
		id, err := certificateAuth{}.identify(r, false)
		if err != nil {
			t.Fatalf("the subject %v is refused: %v", subject, err)
		}
		if before, ok := users[id.user]; ok {
			t.Errorf("the subjects %v and %v are the same user %q", before, subject, id.user)
		}
		users[id.user] = subject
	}
	if _, ok := users["CN=ann"]; !ok {
		t.Errorf("the users are %v, want CN=ann among them", users)
	}
}
