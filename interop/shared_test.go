package interop

import (
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// handovers are the kinds of a holder and its waiter.
var handovers = [][2]string{
	{"exclusive", "exclusive"}, {"fair", "fair"}, {"fenced", "fenced"}, {"write", "write"}, {"read", "write"}, {"write", "read"}, {"multi", "multi"},
}

// sharesEveryKind checks for every kind, in both directions, that the other language is
// refused while a lock is held, and notified when it is released.
func (f *fixture) sharesEveryKind(where string) {
	f.t.Helper()
	for _, kinds := range handovers {
		row := where + ", " + kinds[0]
		if kinds[1] != kinds[0] {
			row += " → " + kinds[1]
		}
		f.t.Run(row, func(t *testing.T) {
			f.withT(t).bothDirections(func(f *fixture, d direction) {
				for range 3 {
					l := f.newLock(kinds[0])
					holder, waiter, wanted := d.holder(), d.waiter(), l.withKind(kinds[1])
					f.must(holder.lock(l))
					f.wantRefused(waiter, wanted)
					if key := f.keyInRedis(l); f.home(key).Must("EXISTS", key) != "1" {
						f.t.Fatalf("the lock has no key %s", key)
					}
					got := f.lockInBackground(waiter, wanted)
					f.waitForSubscribers(l, 1)
					f.must(holder.unlock(l))
					<-got
					if f.t.Failed() {
						f.t.FailNow()
					}
					f.must(waiter.unlock(wanted))
				}
				table.record(row, d.name, "refused, then notified")
			})
		})
	}
}

// TestPrefix maps names: with a prefix in Go, and with a NameMapper in Java.
func TestPrefix(t *testing.T) {
	t.Parallel()
	newPrefixedFixture(t, longLease, "shop:").sharesEveryKind("prefix")
}

// TestMulti acquires several keys at once. Go locks them in byte order, so Java must name
// them in that order.
func TestMulti(t *testing.T) {
	t.Parallel()
	f := newFixture(t, longLease)
	f.bothDirections(func(f *fixture, d direction) {
		all := f.newLock("multi")
		last := lock{"exclusive", all.key[strings.LastIndex(all.key, ",")+1:]}
		holder, waiter := d.holder(), d.waiter()
		f.must(holder.lock(all))
		f.wantRefused(waiter, last)
		f.must(holder.unlock(all))
		f.must(holder.lock(last))
		f.wantRefused(waiter, all)
		f.must(holder.unlock(last))
		f.must(waiter.lock(all))
		f.must(waiter.unlock(all))
		table.record("a multi-lock and one of its keys", d.name, "exclude each other")
	})
}

// TestCluster shares locks on a cluster, once in each publish mode. A client in one mode does
// not receive the messages of the other mode.
func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	for where, s := range map[string]servers{
		"cluster":          {url: cluster.URL()},
		"cluster, PUBLISH": {url: cluster.URL(), sharded: "OFF", publish: "publish"},
	} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			f := &fixture{t: t, cluster: cluster, servers: s, lease: longLease}
			f.openClients()
			f.sharesEveryKind(where)
			f.excludes(where, 3, 20)
		})
	}
}
