package guard_test

import (
	"slices"
	"testing"
)

// Why a law does not apply to an in-process engine.
const (
	faults = "the connection to the engine fails or is slow"
	counts = "it counts the calls that reach the engine"
)

// remoteTopics and remoteLaws need a connection to the engine. All other laws are checked
// a second time on an in-process engine.
var (
	remoteTopics = map[string]string{"down": faults}
	remoteLaws   = map[string]string{
		"a call with the record's payload does not get the mismatch of a concurrent call":         faults,
		"a caller that gives up while asking does not fail the others":                            faults,
		"a lost claim cancels the work with the cause, before another caller can claim the key":   faults,
		"failed renewals are retried, and the claim is kept":                                      faults,
		"a grant that took most of its lease to arrive is given back":                             faults,
		"a release whose reply was lost succeeds, even if another caller holds the key by then":   faults,
		"a result that never arrived fails if another caller holds the key by then":               faults,
		"a renewal does not shorten a window's longer first lease":                                faults,
		"the clock that is further ahead decides how long a renewal is trusted":                   faults,
		"after a loss the next call in the same process claims the key like any other":            faults,
		"a settlement whose reply was lost is stored once":                                        faults,
		"of two concurrent operators one decides":                                                 faults,
		"operators get an error while the engine is down":                                         faults,
		"no work starts after Close":                                                              faults,
		"no unguarded work starts after Close":                                                    faults,
		"Close waits for unguarded work, too":                                                     faults,
		"Close reports results that the engine did not accept":                                    faults,
		"Close reports a result that it gave up storing":                                          faults,
		"Close reports unguarded work that still runs":                                            faults,
		"a closed guard caches nothing, not even late answers":                                    faults,
		"an expired token finds a result from an outage":                                          faults,
		"an expired token finds an earlier result during an outage":                               faults,
		"an expired token starts no work if its unknown outcome is forgotten meanwhile":           faults,
		"a slow lookup of an expired token does not shorten the retries that follow":              faults,
		"a lost notification is repaired by polling":                                              faults,
		"a waiter learns that the engine is down when the other process's lease may have expired": faults,
		"a refusal by the engine is logged as an error, with its text":                            faults,
		"an outage shorter than the window does not end the claim":                                faults,

		"of a thousand concurrent calls in a process one asks the engine (T10)":                  counts,
		"a process caches an outcome for half a second (T10)":                                    counts,
		"a process caches another process's result for half a second, too":                       counts,
		"a process asks about another process's work once in half a second":                      counts,
		"the cache of results is bounded in bytes":                                               counts,
		"an operator's decision is cached, not the answer from before it":                        counts,
		"a caller that waited during an operator's decision still asks on behalf of its process": counts,
		"every call is traced with its verdict, and every claim with its ending (L10)":           counts,
		"the log shows the hashed key, verdict and time left of every check (L10)":               counts,
		"one waiter per process asks the engine for all":                                         counts,
	}
)

// inProcessTopics are about guards on an in-process engine.
var inProcessTopics = []string{"inprocess", "claimdirect", "envelope"}

// placements returns where a law is checked: on a remote engine (false), in process (true).
func placements(topic, sentence string) []bool {
	switch {
	case slices.Contains(inProcessTopics, topic):
		return []bool{true}
	case remoteTopics[topic] != "" || remoteLaws[sentence] != "":
		return []bool{false}
	}
	return []bool{false, true}
}

// TestRemoteLaws fails if remoteLaws names a law that does not exist, since a reworded law
// would then run on engines it does not apply to.
func TestRemoteLaws(t *testing.T) {
	all := make(map[string]bool)
	for _, laws := range topics {
		for _, l := range laws {
			all[l.sentence] = true
		}
	}
	for sentence := range remoteLaws {
		if !all[sentence] {
			t.Errorf("there is no law %q", sentence)
		}
	}
}
