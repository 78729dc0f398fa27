package gateway

import (
	"context"
	"errors"
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

// A keySet is what tokens are verified with. That of a URL is loaded again every
// hour, and when a token names a key that is not in it; while it cannot be, the keys
// that were there stay good.
type keySet struct {
	from string // a file or URL; empty if it never changes
	log  *slog.Logger
	http *http.Client

	loading chan struct{} // holds one: who takes it loads
	mu      sync.Mutex
	keys    []jose.JSONWebKey
	loaded  time.Time
	tried   time.Time

	ends context.CancelFunc // what runs in the background
	ctx  context.Context    //nolint:containedctx // of what runs in the background
	runs sync.WaitGroup
}

const (
	freshFor    = time.Hour       // how long keys are not asked for again
	triedWithin = 5 * time.Second // how often they are, at most
	loadWithin  = 5 * time.Second // how long that may take
	mostKeySet  = 1 << 20         // bytes
	mostKeys    = 16              // that a token without a key's name is tried with
)

// newKeySet returns the keys of a file or URL. A file must be there; a URL may come
// later, since who issues tokens may start after us.
func newKeySet(from string, log *slog.Logger) (*keySet, error) {
	k := &keySet{from: from, log: log, loading: make(chan struct{}, 1)}
	k.ctx, k.ends = context.WithCancel(context.Background())
	k.http = &http.Client{
		Timeout:       loadWithin,
		Transport:     &http.Transport{DisableKeepAlives: true, TLSHandshakeTimeout: loadWithin},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if k.remote() {
		if err := checkURL(from); err != nil {
			return nil, err
		}
		if err := k.load(k.ctx); err != nil {
			log.Warn("the keys that tokens are verified with cannot be had now; who comes with a token is told to come back", "from", from, "err", err)
		}
		return k, nil
	}
	if err := k.load(k.ctx); err != nil {
		return nil, err
	}
	return k, nil
}

func (k *keySet) remote() bool { return strings.Contains(k.from, "://") }

// checkURL refuses a URL on whose way somebody could put other keys.
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
	return fmt.Errorf("gateway: jwks: %s: keys come by https, or by http from this machine", u.Redacted())
}

// close ends what runs in the background.
func (k *keySet) close() {
	if k.ends != nil {
		k.ends()
	}
	k.runs.Wait()
}

// find returns the keys that may have signed a token.
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
	case k.loading <- struct{}{}: // who loads them now may bring it
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if keys, known, _ = k.named(id); !known && k.due() {
		k.complain(k.load(ctx))
		keys, known, _ = k.named(id)
	}
	<-k.loading
	switch {
	case known:
		return keys, nil
	case k.empty():
		return nil, errKeysAway
	}
	return nil, fmt.Errorf("gateway: the token is signed with the key %.40q, which is not known", id)
}

// named returns the keys of that name, or all if there is none, whether there are any,
// and whether they should be loaded again.
func (k *keySet) named(id string) (keys []any, known, stale bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range k.keys {
		if (id == "" || key.KeyID == id || k.from == "") && len(keys) < mostKeys {
			keys = append(keys, key.Key)
		}
	}
	return keys, len(keys) > 0, time.Since(k.loaded) > freshFor
}

// empty tells whether there never were any keys.
func (k *keySet) empty() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.loaded.IsZero()
}

// due tells whether it is time to try to load the keys.
func (k *keySet) due() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Since(k.tried) > triedWithin
}

// refresh loads the keys in the background, if nobody does.
func (k *keySet) refresh() {
	if !k.due() {
		return
	}
	select {
	case k.loading <- struct{}{}:
		k.runs.Go(func() {
			defer func() { <-k.loading }()
			k.complain(k.load(k.ctx))
		})
	default:
	}
}

func (k *keySet) complain(err error) {
	if err != nil && k.ctx.Err() == nil {
		k.log.Warn("the keys that tokens are verified with cannot be loaded again; those that are known stay good", "from", k.from, "err", err)
	}
}

// load loads the keys. It is not cut short by the request that wanted it, since
// others wait for the same.
func (k *keySet) load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadWithin)
	defer cancel()
	stop := context.AfterFunc(k.ctx, cancel)
	defer stop()
	text, err := k.fetch(ctx)
	k.mu.Lock()
	k.tried = time.Now() // now: those who waited meanwhile need not try the same, one after the other
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
	defer resp.Body.Close() //nolint:errcheck // nothing is lost
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("gateway: jwks: the answer has the status %d", resp.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostKeySet+1))
	if err == nil && len(text) > mostKeySet {
		err = errors.New("gateway: jwks: the answer is too large")
	}
	return text, err
}
