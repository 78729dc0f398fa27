package main

const (
	faultyGo  = "engine/enginetest/faulty.go"
	villainGo = "engine/enginetest/ledger.go"
	delivery  = "engine/enginetest/delivery.go"
	muffler   = "engine/enginetest/muffler.go"
)

// faultyMutants are bugs in the villain: a fault that does not happen would let
// the laws about it hold for nothing.
var faultyMutants = []mutant{
	{"notifier-cannot-fail", faultyGo,
		"	if c.Notifier != nil {\n", "	if false {\n",
		"a wrapper that forgets a capability"},
	{"notifier-is-never-muted", muffler,
		"if x != nil && x.Do == Mute {", "if false {",
		"a fault that does not happen proves nothing"},
	{"faults-do-not-fire", faultyGo,
		"	if i < 0 {\n", "	if true {\n",
		"a fault that does not happen proves nothing"},
	{"lost-reply-is-a-refusal", delivery,
		"	case LoseReply:\n\t\tcall(ctx)\n", "	case LoseReply:\n",
		"the hardest fault is not made"},
	{"late-is-on-time", delivery,
		"time.Sleep(x.After)", "time.Sleep(0)",
		"the hardest fault is not made"},
}

// villainMutants are bugs in what stands before a ledger and fails on command.
var villainMutants = []mutant{
	{"ledger-cannot-fail", faultyGo,
		"\tif c.Ledger != nil {\n",
		"\tif false {\n",
		"a wrapper that forgets a capability"},
	{"ledger-claims-cannot-fail", villainGo,
		"next(ctx, OpClaim, c.Key)",
		"next(ctx, OpAcquire, c.Key)",
		"a fault that does not happen proves nothing"},
	{"ledger-renewals-cannot-fail", villainGo,
		"next(ctx, OpClaimRenew, keys...)",
		"next(ctx, OpRenew, keys...)",
		"a fault that does not happen proves nothing"},
	{"ledger-settlements-cannot-fail", villainGo,
		"next(ctx, OpSettle, s.Key)",
		"next(ctx, OpRelease, s.Key)",
		"a fault that does not happen proves nothing"},
	{"ledger-lookups-cannot-fail", villainGo,
		"next(ctx, OpLookup, key)",
		"next(ctx, OpInspect, key)",
		"a fault that does not happen proves nothing"},
	{"ledger-lists-cannot-fail", villainGo,
		"next(ctx, OpLookup)",
		"next(ctx, OpInspect)",
		"a fault that does not happen proves nothing"},
	{"ledger-is-never-muted", villainGo,
		"return l.faulty.muffle(key, l.inner.Watch)",
		"return l.inner.Watch(key)",
		"a fault that does not happen proves nothing"},
	{"ledger-late-result-is-the-callers", villainGo,
		"\ts.Result = slices.Clone(s.Result) // as in Renew\n",
		"",
		"what arrives is not what was sent"},
}
