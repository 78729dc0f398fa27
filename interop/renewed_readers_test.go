package interop

import (
	"fmt"
	"testing"
	"time"
)

// Redisson 3.44 to 3.52 renews the hash of a read lock, but not always the keys of its
// readers. It misses some keys if a client has several read locks, several threads that
// read, or a thread that enters twice. Such a reader holds the lock as long as the hash exists.
func TestJavaReadersPastTheirLease(t *testing.T) {
	const lease = 6 * time.Second
	for name, read := range map[string]func(*fixture, lock){
		"several locks of one client": func(f *fixture, l lock) {
			for i := range 3 {
				f.must(f.javaActor().lock(lock{"read", fmt.Sprintf("%s:%d", l.key, i)}))
			}
			f.must(f.javaActor().lock(l))
			for i := 3; i < 6; i++ {
				f.must(f.javaActor().lock(lock{"read", fmt.Sprintf("%s:%d", l.key, i)}))
			}
		},
		"several threads of one client": func(f *fixture, l lock) {
			for range 3 {
				f.must(f.javaActor().lock(l))
			}
		},
		"one thread that enters twice": func(f *fixture, l lock) {
			java := f.javaActor()
			f.must(java.lock(l))
			f.must(java.lock(l))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, lease)
			l := f.newLock("read")
			read(f, l)
			writer := f.goActor()
			for end := time.Now().Add(2 * lease); time.Now().Before(end); time.Sleep(lease / 20) {
				f.wantRefused(writer, l.withKind("write"))
				if name == "several locks of one client" {
					for i := range 6 {
						f.wantRefused(writer, lock{"write", fmt.Sprintf("%s:%d", l.key, i)})
					}
				}
			}
			table.record("read past the lease, "+name, javaToGo, "a Go writer is refused")
		})
	}
}
