package main

const (
	expiryGo  = "engine/memory/expiry.go"
	recordsGo = "engine/memory/records.go"
)

// expiryMutants are bugs in what orders and finds what is kept. That the order is
// right, and that two keys with one hash are kept apart, is for tests of their own:
// nobody outside can tell.
var expiryMutants = []mutant{
	{"expiry-keeps-the-first-time", expiryGo,
		"\tx[e.place].at = e.expires\n",
		"",
		"a lock is shed at its first end, however often it was renewed"},
	{"expiry-has-no-places", expiryGo,
		"\td.place = i\n",
		"",
		"one is released, and another is gone"},
	{"expiry-leaves-a-hole", expiryGo,
		"\t\th[i] = moved\n\t\tx.settle(i)\n",
		"\t\th[i] = moved\n",
		"what took its place does not know where it is"},
	{"records-are-never-let-go", recordsGo,
		"\tx.index.take(slot{r.tag, r.number})\n",
		"",
		"what was forgotten is found again"},
	{"records-are-found-by-their-shard", recordsGo,
		"\ttag := tagOf(hash)\n\tfor at",
		"\tfor r := range x.all {\n\t\treturn r\n\t}\n\ttag := tagOf(hash)\n\tfor at",
		"one customer is told of another's payment"},
}
