package guard

import "time"

// Click returns the policy of a button that people click twice: repeats are
// refused for a second after the start, and pass if the engine is down.
func Click(name string) Policy {
	return Policy{Name: name, After: Window, Window: time.Second, OnDown: Open}
}

// Form returns the policy of a form that people send twice: repeats are refused
// for 5 seconds after the start, and pass if the engine is down.
func Form(name string) Policy {
	return Policy{Name: name, After: Window, Window: 5 * time.Second, OnDown: Open}
}

// Payment returns the policy for money: repeats are refused for 30 seconds after
// the start; what nobody knows the outcome of is held for a day, for a person or
// [Guard.Resolve] to look at; nothing runs unguarded.
//
// Where the client sends a key and is to get the same answer again, use [Charge].
func Payment(name string) Policy {
	return Policy{Name: name, After: Window, Window: 30 * time.Second, OnUnknown: Hold, Retain: 24 * time.Hour, OnDown: Closed}
}

// Export returns the policy of something heavy: repeats are refused for 5 minutes
// after the start, and pass if the engine is down.
func Export(name string) Policy {
	return Policy{Name: name, After: Window, Window: 5 * time.Minute, OnDown: Open}
}

// Short returns the policy of a quick operation: its claim survives its process
// for 10 seconds.
func Short(name string) Policy { return Policy{Name: name, Lease: 10 * time.Second} }

// Long returns the policy of a long operation: its claim survives its process for
// 5 minutes, and is renewed for up to an hour.
func Long(name string) Policy {
	return Policy{Name: name, Lease: 5 * time.Minute, MaxHold: time.Hour}
}

// Charge returns the policy for money where the client sends a key of its own, as
// with Stripe: who sends it again within a day gets the same result; what nobody
// knows the outcome of is held for a day, or until somebody has found it out
// ([Guard.Resolve]); nothing runs unguarded. Give the key the fingerprint of the
// request with [Key.For].
func Charge(name string) Policy {
	return Policy{Name: name, After: Keep, Retain: 24 * time.Hour, OnUnknown: Hold, OnDown: Closed}
}

// Import returns the policy of a job that runs once a day for everybody, whoever
// starts it, and for up to half a day. It passes if the engine is down.
func Import(name string) Policy {
	return Policy{Name: name, Scope: Global, Retain: 24 * time.Hour, MaxHold: 12 * time.Hour, OnDown: Open}
}
