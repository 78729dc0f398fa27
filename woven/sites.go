package woven

import (
	"maps"
	"sync"

	"github.com/interlock-go/interlock"
)

// SitesOf returns the directives that were called with a client, each with the reason why
// its options are invalid, or nil. Directives that were never called are not included; for
// all directives of a binary, see interlock verify.
func SitesOf(client *interlock.Client) map[*Site]error {
	t := sitesOf(client)
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.sites)
}

// A siteTable has the sites that were called with a client.
type siteTable struct {
	mu    sync.Mutex
	sites map[*Site]error
}

type sitesKey struct{}

func sitesOf(c *interlock.Client) *siteTable {
	return c.Shared(sitesKey{}, func() any { return &siteTable{sites: make(map[*Site]error)} }).(*siteTable)
}

// calledWith records that the site was called with a client. It locks a mutex, so locks
// and guards call it only on first use with a client, and if the site is invalid.
func (st *state) calledWith(c *interlock.Client) {
	t := sitesOf(c)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sites[st.site] = st.err
}
