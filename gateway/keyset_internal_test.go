package gateway

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Keys are loaded again every hour and when a token names an unknown key, but at most
// once in five seconds.
func TestKeysAreLoadedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	publish := func(ids ...string) {
		set := jose.JSONWebKeySet{}
		for _, id := range ids {
			public, _, err := ed25519.GenerateKey(nil)
			if err != nil {
				t.Fatal(err)
			}
			set.Keys = append(set.Keys, jose.JSONWebKey{Key: public, KeyID: id})
		}
		text, err := json.Marshal(set)
		if err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	publish("a")
	synctest.Test(t, func(t *testing.T) {
		k, err := newKeySet(path, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer k.close()
		knows := func(id string) bool {
			keys, err := k.find(t.Context(), id)
			return err == nil && len(keys) == 1
		}
		if !knows("a") || knows("b") {
			t.Fatal("the published key a is unknown, or the unpublished key b is known")
		}
		publish("a", "b")
		if knows("b") {
			t.Error("the keys were loaded again within five seconds")
		}
		time.Sleep(retryInterval + time.Millisecond)
		if !knows("b") || !knows("a") {
			t.Error("an unknown key did not load the keys again")
		}
		publish("b")
		time.Sleep(refreshInterval + time.Millisecond)
		if !knows("a") {
			t.Error("the first request after an hour does not get the old keys")
		}
		k.background.Wait()
		if knows("a") || !knows("b") {
			t.Error("after an hour the old keys are still in use")
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(refreshInterval + time.Millisecond)
		if knows("b"); !knows("b") {
			t.Error("a failed load discards the keys")
		}
		k.background.Wait()
	})
}

// While keys cannot be loaded, a request waits for one load, not for one load per request
// before it.
func TestKeysThatCannotBeLoaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &keySet{from: "http://127.0.0.1/jwks", log: slog.New(slog.DiscardHandler), loading: make(chan struct{}, 1)}
		k.ctx, k.cancel = context.WithCancel(t.Context())
		k.http = &http.Client{Transport: hanging{}}
		defer k.close()
		start := time.Now()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if _, err := k.find(t.Context(), "a"); !errors.Is(err, errKeysUnavailable) {
					t.Errorf("find() = %v, want errKeysUnavailable", err)
				}
			})
		}
		all.Wait()
		if took := time.Since(start); took >= 2*loadTimeout {
			t.Errorf("ten requests waited %v, want the time of one load", took)
		}
	})
}

// hanging is a transport that never gets a response.
type hanging struct{}

func (hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	time.Sleep(time.Millisecond) // a real transport returns a little later, too
	return nil, context.Cause(r.Context())
}

// A pattern matches the same paths as in an http.ServeMux.
func TestPatternsMatchLikeServeMux(t *testing.T) {
	patterns := []string{"/", "/{$}", "/orders", "/orders/", "/orders/{$}", "/orders/{id}", "/orders/{id}/", "/orders/{id}/pay", "/files/{rest...}", "/{a}/{b}", "/a%20b", "/{a}/x/{c...}"}
	paths := []string{"/", "/orders", "/orders/", "/orders/7", "/orders/7/", "/orders/7/pay", "/orders/7/pay/", "/files", "/files/", "/files/a", "/files/a/b/", "/a%20b", "/x/y", "/x/x/", "/x/x/y/z", "/%6frders", "/你/好"}
	for _, text := range patterns {
		p, err := parsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			values := map[string]string{}
			matched := false
			mux := http.NewServeMux()
			var got *http.Request
			mux.HandleFunc(text, func(_ http.ResponseWriter, r *http.Request) { matched, got = true, r })
			r := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
			r.URL = r.URL.JoinPath(path)
			mux.ServeHTTP(httptest.NewRecorder(), r)
			segments, ok := split(r.URL.EscapedPath())
			if !ok || p.match(segments, exactly) != matched {
				t.Errorf("the pattern %s matches %s: %v, in a ServeMux: %v", text, path, !matched, matched)
				continue
			}
			if !matched {
				continue
			}
			p.values(segments, func(name, value string) { values[name] = value })
			for name, value := range values {
				if got.PathValue(name) != value {
					t.Errorf("%s of %s in %s is %q, in a ServeMux %q", name, text, path, value, got.PathValue(name))
				}
			}
		}
	}
}
