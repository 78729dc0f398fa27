package enginetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Registered clients: T13's search for a leaked lock.
var memberLaws = []Law{
	{"member", "a client that registers is known", func(b *testbed) {
		b.registers(b.member(1), 50*b.Lease)
		b.membersAre([]int{1}, b.member(1))
	}},
	{"member", "a client that never registered is not known", func(b *testbed) {
		b.registers(b.member(1), 50*b.Lease)
		b.membersAre([]int{2})
		b.membersAre([]int{2, 1, 3}, b.member(1))
	}},
	{"member", "only requested clients are returned", func(b *testbed) {
		b.registers(b.member(1), 50*b.Lease)
		b.registers(b.member(2), 50*b.Lease)
		b.membersAre([]int{2}, b.member(2))
		b.membersAre([]int{1, 2}, b.member(1), b.member(2))
		b.membersAre(nil)
	}},
	{"member", "a registration expires", func(b *testbed) {
		b.registers(b.member(1), b.Lease)
		b.registers(b.member(2), 3*b.Lease)
		b.sleepPastLease()
		b.membersAre([]int{1, 2}, b.member(2))
	}},
	{"member", "a client that registers again stays known", func(b *testbed) {
		b.registers(b.member(1), b.Lease)
		b.sleepMostOfLease()
		b.registers(b.member(1), b.Lease)
		b.sleepMostOfLease()
		b.membersAre([]int{1}, b.member(1))
	}},
	{"member", "the last registration of a client counts", func(b *testbed) {
		m := b.member(1)
		b.registers(m, 50*b.Lease)
		m.Name = "another shop"
		b.registers(m, 50*b.Lease)
		b.membersAre([]int{1}, m)
	}},
	{"member", "a registration whose context is done changes nothing", func(b *testbed) {
		b.wantCanceled(b.inspector().Register(b.doneContext(), b.member(1), b.Lease))
		b.membersAre([]int{1})
	}},
}

// client returns the ID of the n-th client of this law.
func (b *testbed) client(n int) string {
	return fmt.Sprintf("%s-0000-4000-8000-%012d", strings.Split(b.prefix, ":")[1], n)
}

// member returns the registration of that client.
func (b *testbed) member(n int) engine.Member {
	return engine.Member{
		ID: b.client(n), Name: "shop", Host: "host-1", PID: 4711 + n, Since: time.Unix(1_700_000_000, 0),
	}
}

// registers makes a client known for a while.
func (b *testbed) registers(m engine.Member, life time.Duration) {
	if err := b.inspector().Register(b.ctx, m, life); err != nil {
		b.fatalf("register: %v", err)
	}
}

// membersAre requires which of the asked clients are registered, and how.
func (b *testbed) membersAre(asked []int, want ...engine.Member) {
	ids, left := make([]string, len(asked)), make(map[string]engine.Member)
	for i, n := range asked {
		ids[i] = b.client(n)
	}
	for _, m := range want {
		left[m.ID] = m
	}
	got, err := b.inspector().Members(b.ctx, ids)
	if err != nil || len(got) != len(want) {
		b.fatalf("Members returned %+v, error %v; want %+v", got, err, want)
	}
	for _, m := range got {
		w := left[m.ID]
		delete(left, m.ID)
		if same := m.Since.Equal(w.Since); !same || m.Name != w.Name || m.Host != w.Host || m.PID != w.PID {
			b.errorf("a member is %+v, want %+v", m, w)
		}
	}
}
