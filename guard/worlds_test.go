package guard_test

import (
	"slices"
	"testing"
)

// Why a law does not hold, or says nothing, of guards on an engine that is near.
const (
	faults = "something fails or takes its time on the way to the engine"
	counts = "it counts what reached the engine, or is answered without it"
)

// farTopics and farLaws are about a way to the engine. All others are checked a second
// time where there is none.
var (
	farTopics = map[string]string{"down": faults}
	farLaws   = map[string]string{
		"a call whose payload is the record's is not told of another one that was asked for at the same time":       faults,
		"a caller that gives up while it asks does not take the others with it":                                     faults,
		"a lost claim cancels the work with the cause, before anybody else can have the key":                        faults,
		"renewals that fail for a while are tried again, and the claim is kept":                                     faults,
		"a grant that took most of its lease to arrive is given back":                                               faults,
		"a release whose reply was lost is a success, although somebody else has the key by then":                   faults,
		"a result that was never heard is no success if somebody else has the key by then":                          faults,
		"a renewal does not shorten what a window's first lease has promised":                                       faults,
		"a renewal is trusted for no longer than the clock says that has seen more":                                 faults,
		"after a loss the next call in the same process is as good as one elsewhere":                                faults,
		"a result whose reply was lost is there once":                                                               faults,
		"of two operators one decides":                                                                              faults,
		"an engine that is down says so to operators, too":                                                          faults,
		"no work begins after a guard was closed":                                                                   faults,
		"no work begins unguarded after a guard was closed":                                                         faults,
		"a guard that is closed waits for what runs unguarded, too":                                                 faults,
		"a guard that is closed with results that nobody could be told says so":                                     faults,
		"a guard that is closed and gives up telling a result says so":                                              faults,
		"a guard that is closed while something runs unguarded says so":                                             faults,
		"a guard that is closed remembers nothing, not even what comes in late":                                     faults,
		"a token spent in an outage, and expired since, finds what it was spent on":                                 faults,
		"a token that has expired finds in an outage what it was spent on before":                                   faults,
		"an expired token begins nothing if what was unknown of it is forgotten meanwhile":                          faults,
		"however long it took to find what an expired token was spent on, an engine that fails then is asked again": faults,
		"a lost wake-up is repaired by asking again":                                                                faults,
		"who waits is told that the engine is down once the one at work may be gone":                                faults,
		"an engine that was asked and would not is logged as an error, with what it said":                           faults,
		"an engine that cannot be reached for less than the window takes no claim away":                             faults,

		"of a thousand at once in a process one asks the engine (T10)":                               counts,
		"what was done is answered here for half a second more, and then asked for (T10)":            counts,
		"a result of another process is answered here for half a second, too":                        counts,
		"work of another process is asked about once in half a second, however many duplicates come": counts,
		"large results are not kept here by the thousand":                                            counts,
		"what an operator has decided is forgotten, and not what others were told of it":             counts,
		"who waited while an operator decided is still the one who asks for all here":                counts,
		"every call is traced with what it met, and every claim with how it ended (L10)":             counts,
		"the log tells key, verdict and time left of every check, and no plain key (L10)":            counts,
		"one that waits for another process speaks for all in its own":                               counts,
	}
)

// nearTopics are about guards on an engine that is near.
var nearTopics = []string{"near", "knock", "envelope"}

// worlds tells where a law is checked: where the engine is far (false), and near.
func worlds(topic, sentence string) []bool {
	switch {
	case slices.Contains(nearTopics, topic):
		return []bool{true}
	case farTopics[topic] != "" || farLaws[sentence] != "":
		return []bool{false}
	}
	return []bool{false, true}
}

// TestFarLaws: the name of a law that was reworded would let it run where it says
// nothing.
func TestFarLaws(t *testing.T) {
	all := make(map[string]bool)
	for _, laws := range topics {
		for _, l := range laws {
			all[l.sentence] = true
		}
	}
	for sentence := range farLaws {
		if !all[sentence] {
			t.Errorf("there is no law %q", sentence)
		}
	}
}
