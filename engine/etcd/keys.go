package etcd

import (
	"strings"

	"github.com/interlock-go/interlock/engine"
)

// A keyspace builds the keys of an engine. Each name is escaped, so that it cannot contain
// the slash that separates the parts of a key:
//
//	lock/NAME/hold/KIND/HOLDER             a hold; for a permit, /ATTEMPT follows
//	lock/NAME/wait/KIND/HOLDER             a queue position
//	lock/NAME/turn/KIND/HOLDER             exists until the position expires
//	lock/NAME/tomb/HOLDER/ATTEMPT          the tombstone of an abandoned attempt
//	lock/NAME/latch                        a latch
//	revoked/NAME/KIND/HOLDER               a hold that was released by force
//	record/NAME/claim                      exists while a claim is held
//	record/NAME/result                     a record
//	record/NAME/tomb/ATTEMPT               the tombstone of an abandoned claim
//	member/ID                              a registered client
//	note/NAME                              a note; note-age/NAME measures its age
//	incarnation                            a random name, lost with the cluster's data
//	fence                                  the base, which is added to all fences
type keyspace struct{ prefix string }

var (
	escapes   = strings.NewReplacer("%", "%25", "/", "%2F")
	unescapes = strings.NewReplacer("%25", "%", "%2F", "/")
)

// locks is the prefix of all locks; lock is that of one.
func (k keyspace) locks() string           { return k.prefix + "lock/" }
func (k keyspace) lock(name string) string { return k.locks() + escapes.Replace(name) + "/" }

// records is the prefix of all records; record is that of one.
func (k keyspace) records() string           { return k.prefix + "record/" }
func (k keyspace) record(name string) string { return k.records() + escapes.Replace(name) + "/" }

// revocations is the prefix of all revocations.
func (k keyspace) revocations() string { return k.prefix + "revoked/" }

func (k keyspace) member(id string) string { return k.prefix + "member/" + escapes.Replace(id) }
func (k keyspace) note(name string) string { return k.prefix + "note/" + escapes.Replace(name) }
func (k keyspace) noteAge(name string) string {
	return k.prefix + "note-age/" + escapes.Replace(name)
}
func (k keyspace) incarnation() string { return k.prefix + "incarnation" }
func (k keyspace) fence() string       { return k.prefix + "fence" }
func (k keyspace) latch(name string) string {
	return k.lock(name) + "latch"
}

// hold is the key of the hold of r's holder and kind.
func (k keyspace) hold(r *engine.Request) string {
	return k.lock(r.Key) + "hold/" + holdID(storedKind(r.Kind), r.Holder, r.Attempt)
}

// wait and turn are the keys of the queue position of r's holder.
func (k keyspace) wait(r *engine.Request) string { return k.lock(r.Key) + "wait/" + waitID(r) }
func (k keyspace) turn(r *engine.Request) string { return k.lock(r.Key) + "turn/" + waitID(r) }

// tomb is the key of the tombstone of r's attempt.
func (k keyspace) tomb(r *engine.Request) string {
	return k.lock(r.Key) + "tomb/" + tombID(r.Holder, r.Attempt)
}

// revoked is the key of the revocation of a hold.
func (k keyspace) revoked(name string, h *hold) string {
	return k.revocations() + escapes.Replace(name) + "/" + holdID(h.Kind, string(h.Holder), h.first())
}

// claim, result and claimTomb are the keys of a record.
func (k keyspace) claim(name string) string  { return k.record(name) + "claim" }
func (k keyspace) result(name string) string { return k.record(name) + "result" }
func (k keyspace) claimTomb(name, attempt string) string {
	return k.record(name) + "tomb/" + escapes.Replace(attempt)
}

// holdID identifies a hold among those of a lock. It includes the attempt only for permits,
// where each attempt is a hold of its own.
func holdID(kind, holder, attempt string) string {
	id := kind + "/" + escapes.Replace(holder)
	if kind == engine.Permit.String() {
		id += "/" + escapes.Replace(attempt)
	}
	return id
}

func waitID(r *engine.Request) string { return holdID(r.Kind.String(), r.Holder, r.Attempt) }
func tombID(holder, attempt string) string {
	return escapes.Replace(holder) + "/" + escapes.Replace(attempt)
}

// storedKind returns the name under which a hold is stored: a fair hold is an exclusive
// one, as only the wait differs.
func storedKind(kind engine.Kind) string {
	if kind == engine.Fair {
		kind = engine.Exclusive
	}
	return kind.String()
}

// family returns one kind for all kinds that may use the same lock: exclusive and fair
// requests may, and so may read and write requests.
func family(kind engine.Kind) engine.Kind {
	switch kind {
	case engine.Fair:
		return engine.Exclusive
	case engine.Write:
		return engine.Read
	}
	return kind
}
