package main

const endingGo = "internal/lazyctx/context.go"

// endingMutants are bugs in the context that a hold is.
var endingMutants = []mutant{
	{"ended-and-not-said", endingGo,
		"\tcase gone:\n\t\treturn context.Canceled\n",
		"\tcase gone:\n\t\treturn nil\n",
		"who only asks now and then goes on for ever"},
	{"ended-without-cause-for-who-comes-late", endingGo,
		"\t\tl.cancel(c.cause)\n",
		"\t\tl.cancel(nil)\n",
		"\"context canceled\" and nothing else"},
	{"ended-twice-for-who-comes-late", endingGo,
		"\t\tparent = context.WithoutCancel(parent) // which may have ended after it\n",
		"",
		"released, and the cause is that the caller left afterwards"},
	{"ended-after-its-parent", endingGo,
		"c.now.Load() == nil && c.parent.Err() == nil",
		"c.now.Load() == nil",
		"the caller left, and the cause is that it was released"},
	{"ended-unheard", endingGo,
		"\tc.listen().cancel(cause)\n",
		"",
		"work goes on after unlock"},
	{"cause-is-the-parents", endingGo,
		"\treturn c.listen().Value(key)\n",
		"\treturn c.parent.Value(key)\n",
		"lost, and nobody is told why"},
}
