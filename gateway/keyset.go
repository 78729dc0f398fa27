package gateway

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// A keySet holds the keys that verify tokens. Keys of a URL are loaded again every hour,
// and when a token names an unknown key. If loading fails, the previous keys stay valid:
// an outage of the issuer must not become ours.
type keySet struct {
	from string // a file or URL; empty if the keys never change
	log  *slog.Logger
	http *http.Client

	loading chan struct{} // a semaphore: one load at a time
	mu      sync.Mutex
	keys    []jose.JSONWebKey
	loaded  time.Time // zero: never
	tried   time.Time

	cancel     context.CancelFunc // stops loads in the background
	ctx        context.Context    //nolint:containedctx // of loads in the background
	background sync.WaitGroup
}

const (
	refreshInterval = time.Hour       // between two loads of known keys
	retryInterval   = 5 * time.Second // minimum time between two loads, even if tokens name unknown keys
	loadTimeout     = 5 * time.Second
	maxKeySet       = 1 << 20 // bytes
	maxTrials       = 16      // keys tried for a token that names none
)

// newKeySet returns the keys of a file or URL. A file must exist. A URL may fail at
// first, because the issuer may start after the gateway.
func newKeySet(from string, log *slog.Logger) (*keySet, error) {
	k := &keySet{from: from, log: log, loading: make(chan struct{}, 1)}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	// One load per hour does not need an idle connection.
	k.http = &http.Client{
		Timeout:   loadTimeout,
		Transport: &http.Transport{DisableKeepAlives: true, TLSHandshakeTimeout: loadTimeout},
		// A redirect could lead away from the host that the file names.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if k.remote() {
		if err := checkURL(from); err != nil {
			return nil, err
		}
		if err := k.load(k.ctx); err != nil {
			log.Warn("the keys that verify tokens could not be loaded; requests with tokens get 503 until they are loaded", "from", from, "err", err)
		}
		return k, nil
	}
	if err := k.load(k.ctx); err != nil {
		return nil, err
	}
	return k, nil
}

// remote reports whether the keys come from a URL. The first load of a URL may fail; that
// of a file may not.
func (k *keySet) remote() bool { return strings.Contains(k.from, "://") }

// checkURL refuses a URL whose response an attacker on the network could replace.
func checkURL(from string) error {
	u, err := url.Parse(from)
	if err != nil {
		return fmt.Errorf("gateway: jwks: %w", err)
	}
	ip, err := netip.ParseAddr(u.Hostname())
	loopback := u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
	if u.Scheme == "https" || u.Scheme == "http" && loopback {
		return nil
	}
	return fmt.Errorf("gateway: jwks: %s is neither https nor http on a loopback address; use https", u.Redacted())
}

// close stops loads in the background, and waits for them.
func (k *keySet) close() {
	// A key set of readKey has no context, because it never loads.
	if k.cancel != nil {
		k.cancel()
	}
	k.background.Wait()
}

// find returns the keys that may have signed a token with that key id. Stale keys are
// returned at once and refreshed in the background; only an unknown id waits for a load.
func (k *keySet) find(ctx context.Context, id string) ([]any, error) {
	keys, known, stale := k.named(id)
	if k.from == "" || known && !stale {
		return keys, nil
	}
	if known {
		k.refresh()
		return keys, nil
	}
	select {
	case k.loading <- struct{}{}: // a load that ran meanwhile may have brought the key
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if keys, known, _ = k.named(id); !known && k.due() {
		k.warn(k.load(ctx))
		keys, known, _ = k.named(id)
	}
	<-k.loading
	switch {
	case known:
		return keys, nil
	// 503, not 401: the token may be valid, and a client must not throw it away.
	case k.empty():
		return nil, errKeysUnavailable
	}
	return nil, fmt.Errorf("gateway: the token is signed with the unknown key %.40q", id)
}

// named returns the keys with that id, or all keys if id is empty. known is false if
// there are none; stale is set if it is time to load them again.
func (k *keySet) named(id string) (keys []any, known, stale bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range k.keys {
		// The only key of a key-file has no id, and is tried for a token with any id.
		if (id == "" || key.KeyID == id || k.from == "") && len(keys) < maxTrials {
			keys = append(keys, key.Key)
		}
	}
	return keys, len(keys) > 0, time.Since(k.loaded) > refreshInterval
}

// empty reports whether no load has succeeded yet.
func (k *keySet) empty() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.loaded.IsZero()
}

// due reports whether the last load is long enough ago.
func (k *keySet) due() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Since(k.tried) > retryInterval
}

// refresh loads the keys in the background, unless a load is running.
func (k *keySet) refresh() {
	// Without this limit, tokens with random key ids would make us flood the issuer.
	if !k.due() {
		return
	}
	select {
	case k.loading <- struct{}{}:
		k.background.Go(func() { // close waits for it
			defer func() { <-k.loading }()
			k.warn(k.load(k.ctx))
		})
	default:
	}
}

// warn logs a failed load, unless close caused it.
func (k *keySet) warn(err error) {
	if err != nil && k.ctx.Err() == nil {
		k.log.Warn("the keys that verify tokens could not be loaded again; the previous ones stay valid", "from", k.from, "err", err)
	}
}

// load loads the keys, and replaces the previous ones as a whole: a key that the issuer
// has removed must not stay valid. Canceling ctx does not cancel the load, because other
// requests wait for the same keys.
func (k *keySet) load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
	defer cancel()
	// close ends a load early.
	stop := context.AfterFunc(k.ctx, cancel)
	defer stop()
	text, err := k.fetch(ctx)
	k.mu.Lock()
	k.tried = time.Now() // after the load: the requests that waited for it must not repeat it one by one
	k.mu.Unlock()
	if err != nil {
		return err
	}
	keys, err := parseKeys(text)
	if err != nil {
		return fmt.Errorf("gateway: jwks: %s: %w", k.from, err)
	}
	k.mu.Lock()
	k.keys, k.loaded = keys, time.Now()
	k.mu.Unlock()
	return nil
}

// fetch reads the file, or gets the URL with a bound on the size.
func (k *keySet) fetch(ctx context.Context) ([]byte, error) {
	if !k.remote() {
		text, err := os.ReadFile(k.from)
		if err != nil {
			return nil, fmt.Errorf("gateway: jwks: %w", err)
		}
		return text, nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.from, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := k.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("gateway: jwks: %s answered with status %d", k.from, resp.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxKeySet+1))
	if err == nil && len(text) > maxKeySet {
		err = fmt.Errorf("gateway: jwks: %s sent more than %d bytes", k.from, maxKeySet)
	}
	return text, err
}
