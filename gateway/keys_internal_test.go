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

// Keys are loaded again when a token names one that is not known, and every hour; but
// not more often than every five seconds, whatever comes.
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
			t.Fatal("at the start")
		}
		publish("a", "b")
		if knows("b") {
			t.Error("they were loaded too soon")
		}
		time.Sleep(triedWithin + time.Millisecond)
		if !knows("b") || !knows("a") {
			t.Error("they were not loaded again")
		}
		publish("b")
		time.Sleep(freshFor + time.Millisecond)
		if !knows("a") {
			t.Error("who comes first has to wait for new keys")
		}
		k.runs.Wait()
		if knows("a") || !knows("b") {
			t.Error("after an hour they are the old ones")
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(freshFor + time.Millisecond)
		if knows("b"); !knows("b") {
			t.Error("what cannot be loaded is forgotten")
		}
		k.runs.Wait()
	})
}

// A pattern matches what that of an http.ServeMux does.
// Who waits for keys that do not come waits once, and not for each who came before.
func TestKeysThatDoNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &keySet{from: "http://127.0.0.1/jwks", log: slog.New(slog.DiscardHandler), loading: make(chan struct{}, 1)}
		k.ctx, k.ends = context.WithCancel(t.Context())
		k.http = &http.Client{Transport: hanging{}}
		defer k.close()
		start := time.Now()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if _, err := k.find(t.Context(), "a"); !errors.Is(err, errKeysAway) {
					t.Errorf("got %v", err)
				}
			})
		}
		all.Wait()
		if took := time.Since(start); took >= 2*loadWithin {
			t.Errorf("it took %v", took)
		}
	})
}

// hanging answers nothing.
type hanging struct{}

func (hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	time.Sleep(time.Millisecond) // nothing is noticed at once
	return nil, context.Cause(r.Context())
}

func TestPatternsAsOfAServeMux(t *testing.T) {
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
				t.Errorf("%s matches %s: %v, and that of a mux: %v", text, path, !matched, matched)
				continue
			}
			if !matched {
				continue
			}
			p.values(segments, func(name, value string) { values[name] = value })
			for name, value := range values {
				if got.PathValue(name) != value {
					t.Errorf("%s of %s in %s is %q, and of a mux %q", name, text, path, value, got.PathValue(name))
				}
			}
		}
	}
}
