package zookeeper

import "sync"

// maxCached is how many documents an engine keeps in memory. They save a read before a
// change; a change of an outdated one is refused by the server, and repeated.
const maxCached = 10_000

// A cache holds the documents that this engine has written, as it has last seen them.
type cache struct {
	mu    sync.Mutex
	nodes map[string]*node // by path
}

// get returns a document as this engine has last seen it, or nil.
func (c *cache) get(path string) *node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[path]
}

// put keeps a document. If there are too many, it drops any other one.
func (c *cache) put(path string, n *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.nodes) >= maxCached {
		for other := range c.nodes {
			delete(c.nodes, other)
			break
		}
	}
	c.nodes[path] = n
}

// drop forgets a document.
func (c *cache) drop(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.nodes, path)
}
