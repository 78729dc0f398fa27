package alertrelay

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	perMinute   = 20 // messages that DingTalk accepts from a robot; more block it for ten minutes
	attempts    = 3
	sendTimeout = 10 * time.Second // of one attempt
	maxAnswer   = 64 << 10         // bytes
)

// A robot posts messages to a group of DingTalk.
type robot struct {
	webhook *url.URL
	secret  string
	client  http.Client
	limit   limit
}

// ErrWebhook reports an address that is not the webhook of a robot. The error does not
// contain the address, because its access token is a secret.
var ErrWebhook = errors.New("the webhook is not an http:// or https:// URL")

func (b *robot) init(o Options) error {
	u, err := url.Parse(o.Webhook)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return ErrWebhook
	}
	b.webhook, b.secret = u, o.Secret
	b.client = http.Client{
		Transport: o.Transport, Timeout: sendTimeout,
		// A redirect would send the message to an address that the user did not configure.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return nil
}

// Sign returns the signature that DingTalk expects beside a timestamp in milliseconds.
func Sign(secret, timestamp string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "\n" + secret))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// post sends a message, and retries after a temporary error. The first attempt has waited
// for the rate limit already.
func (b *robot) post(ctx context.Context, m message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		err = b.try(ctx, body)
		temporary, ok := errors.AsType[*temporaryError](err)
		if !ok || attempt == attempts {
			return err
		}
		select {
		case <-ctx.Done():
			return temporary
		case <-time.After(time.Duration(attempt) * time.Second):
		}
		if err := b.limit.wait(ctx); err != nil {
			return temporary
		}
	}
}

// A temporaryError may go away by itself.
type temporaryError struct{ error }

// try sends a message once.
func (b *robot) try(ctx context.Context, body []byte) error {
	b.limit.count() // DingTalk counts refused messages, too
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.signed(), bytes.NewReader(body))
	if err != nil {
		return ErrWebhook
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := b.client.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // without the address, which contains the access token
		}
		return &temporaryError{fmt.Errorf("DingTalk cannot be reached: %w", err)}
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	_ = resp.Body.Close()
	switch {
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests || err != nil:
		return &temporaryError{fmt.Errorf("DingTalk answered with status %d", resp.StatusCode)}
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("DingTalk answered with status %d", resp.StatusCode)
	}
	return answerError(text)
}

// answerError returns the error in an answer. DingTalk answers errors with status 200.
func answerError(text []byte) error {
	var answer struct {
		Code *int   `json:"errcode"`
		Text string `json:"errmsg"`
	}
	if json.Unmarshal(text, &answer) != nil || answer.Code == nil {
		return errors.New("the answer is not one of DingTalk; check the webhook")
	}
	err := fmt.Errorf("DingTalk refused the message: errcode %d: %s", *answer.Code, answer.Text)
	switch *answer.Code {
	case 0:
		return nil
	case -1, 130101: // busy; too many messages
		return &temporaryError{err}
	}
	return err
}

// signed returns the address with a fresh signature.
func (b *robot) signed() string {
	if b.secret == "" {
		return b.webhook.String()
	}
	u, query := *b.webhook, b.webhook.Query()
	timestamp := strconv.FormatInt(time.Now().UnixMilli(), 10)
	query.Set("timestamp", timestamp)
	query.Set("sign", Sign(b.secret, timestamp))
	u.RawQuery = query.Encode()
	return u.String()
}

// A limit allows at most perMinute messages in any minute. A token bucket would allow twice
// as many in its first minute.
type limit struct {
	sent [perMinute]time.Time // a ring; the zero time is long ago
	next int                  // the oldest
}

func (l *limit) count() {
	l.sent[l.next] = time.Now()
	l.next = (l.next + 1) % perMinute
}

// wait returns when a message may be sent.
func (l *limit) wait(ctx context.Context) error {
	oldest := l.sent[l.next]
	if oldest.IsZero() {
		return nil
	}
	left := time.Until(oldest.Add(time.Minute))
	if left <= 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(left):
		return nil
	}
}
