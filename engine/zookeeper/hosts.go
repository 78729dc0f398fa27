package zookeeper

import (
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"
)

// hosts are the servers that the library connects to, in the order of all. Names are
// resolved each time, because servers may move.
type hosts struct {
	mu    sync.Mutex
	all   []string
	next  int // index of the server to try next
	tries int // servers tried since the last connection
}

var _ zk.HostProvider = (*hosts)(nil)

// shuffled returns the servers in a random order, which spreads the clients over them.
func shuffled(servers []string) []string {
	all := slices.Clone(servers)
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// Init implements [zk.HostProvider]. It ignores the order of the library, because the
// session has chosen one.
func (h *hosts) Init([]string) error { return nil }

// Len implements [zk.HostProvider].
func (h *hosts) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.all)
}

// Next implements [zk.HostProvider]. The library pauses for a second when all servers
// have been tried, but not before: after a lost connection it tries each at once.
func (h *hosts) Next() (server string, pause bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	server = h.all[h.next]
	pause = h.tries > 0 && h.tries%len(h.all) == 0
	h.next = (h.next + 1) % len(h.all)
	h.tries++
	return server, pause
}

// Connected implements [zk.HostProvider].
func (h *hosts) Connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tries = 0
}
