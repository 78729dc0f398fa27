package guard

import "time"

// Click is for a button: repeats are refused for 1 second after the start. After an
// unknown outcome the next call runs. If the engine is down, the work runs unguarded.
func Click(name string) Policy {
	return Policy{Name: name, After: Window, Window: time.Second, OnUnknown: Rerun, OnDown: Open}
}

// Form is for a form: repeats are refused for 5 seconds after the start. After an
// unknown outcome the next call runs. If the engine is down, the work runs unguarded.
func Form(name string) Policy {
	return Policy{Name: name, After: Window, Window: 5 * time.Second, OnUnknown: Rerun, OnDown: Open}
}

// Payment is for money: repeats are refused for 30 seconds after the start. An unknown
// outcome is held for a day, until an operator calls [Guard.Resolve] or [Guard.Forget].
// Nothing runs unguarded.
//
// If the client sends a key and expects the same response again, use [Charge].
func Payment(name string) Policy {
	return Policy{Name: name, After: Window, Window: 30 * time.Second, OnUnknown: Hold, Retain: 24 * time.Hour, OnDown: Closed}
}

// Export is for heavy work: repeats are refused for 5 minutes after the start. After an
// unknown outcome the next call runs. If the engine is down, the work runs unguarded.
func Export(name string) Policy {
	return Policy{Name: name, After: Window, Window: 5 * time.Minute, OnUnknown: Rerun, OnDown: Open}
}

// Short is for quick work: its lease is 10 seconds, so a crash is noticed after that
// time. Its outcome is then held for a day, as by default.
func Short(name string) Policy { return Policy{Name: name, Lease: 10 * time.Second} }

// Long is for long work: its lease is 5 minutes, and is renewed for up to an hour.
func Long(name string) Policy {
	return Policy{Name: name, Lease: 5 * time.Minute, MaxHold: time.Hour}
}

// Charge is for money if the client sends its own key, as with Stripe: a repeat within
// a day gets the same result. An unknown outcome is held for a day, or until an
// operator calls [Guard.Resolve]. Nothing runs unguarded. Set the fingerprint of the
// request with [Key.For].
func Charge(name string) Policy {
	return Policy{Name: name, After: Keep, Retain: 24 * time.Hour, OnUnknown: Hold, OnDown: Closed}
}

// Import is for a daily job: it runs once a day for all users, for up to 12 hours. An
// unknown outcome is held for a day. If the engine is down, it runs unguarded.
func Import(name string) Policy {
	return Policy{Name: name, Scope: Global, Retain: 24 * time.Hour, MaxHold: 12 * time.Hour, OnDown: Open}
}
