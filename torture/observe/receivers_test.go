package observe

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// An inbox keeps what a receiver accepted.
type inbox struct {
	address string
	mu      sync.Mutex
	texts   []string
	refused []string
}

func (b *inbox) add(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.texts = append(b.texts, text)
}

// has reports whether a text contains all words.
func (b *inbox) has(words ...string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
next:
	for _, text := range b.texts {
		for _, w := range words {
			if !strings.Contains(text, w) {
				continue next
			}
		}
		return true
	}
	return false
}

func (b *inbox) refusals() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.refused)
}

func (b *inbox) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Sprintf("%d accepted: %q; refused: %q", len(b.texts), b.texts, b.refused)
}

// mailServer accepts e-mail by SMTP.
func mailServer(t *testing.T) *inbox {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &inbox{address: l.Addr().String()}
	var open sync.WaitGroup
	t.Cleanup(func() { l.Close(); open.Wait() })
	open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { defer conn.Close(); b.session(conn) })
		}
	})
	return b
}

// session handles one connection.
func (b *inbox) session(conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	in := textproto.NewReader(bufio.NewReader(conn))
	fmt.Fprint(conn, "220 ready\r\n")
	for {
		line, err := in.ReadLine()
		if err != nil {
			return
		}
		switch verb, _, _ := strings.Cut(strings.ToUpper(line), " "); verb {
		case "DATA":
			fmt.Fprint(conn, "354 go on\r\n")
			text, err := in.ReadDotBytes()
			if err != nil {
				return
			}
			b.add(strings.ReplaceAll(string(text), "=\n", "")) // joins the lines that quoted-printable has broken
			fmt.Fprint(conn, "250 accepted\r\n")
		case "QUIT":
			fmt.Fprint(conn, "221 bye\r\n")
			return
		default:
			fmt.Fprint(conn, "250 ok\r\n")
		}
	}
}

const (
	robotToken  = "t0ken"
	robotSecret = "SEC0123456789"
)

// dingTalk accepts messages that DingTalk would accept. It checks the token, the signature,
// and that the timestamp is at most an hour old.
func dingTalk(t *testing.T) *inbox {
	b := new(inbox)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		millis, err := strconv.ParseInt(q.Get("timestamp"), 10, 64)
		mac := hmac.New(sha256.New, []byte(robotSecret))
		fmt.Fprintf(mac, "%d\n%s", millis, robotSecret)
		sign := base64.StdEncoding.EncodeToString(mac.Sum(nil))
		var m struct {
			Type     string `json:"msgtype"`
			Markdown struct{ Title, Text string }
		}
		switch age := time.Since(time.UnixMilli(millis)).Abs(); {
		case err != nil, age > time.Hour, q.Get("sign") != sign, q.Get("access_token") != robotToken,
			json.NewDecoder(r.Body).Decode(&m) != nil, m.Type != "markdown", m.Markdown.Title == "":
			b.mu.Lock()
			defer b.mu.Unlock()
			b.refused = append(b.refused, r.URL.String())
			fmt.Fprint(w, `{"errcode":310000,"errmsg":"sign not match"}`)
		default:
			b.add(m.Markdown.Text)
			fmt.Fprint(w, `{"errcode":0,"errmsg":"ok"}`)
		}
	}))
	t.Cleanup(server.Close)
	b.address = server.URL
	return b
}
