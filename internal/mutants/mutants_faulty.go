package main

const (
	faultyGo = "engine/enginetest/faulty.go"
	delivery = "engine/enginetest/delivery.go"
	muffler  = "engine/enginetest/muffler.go"
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
