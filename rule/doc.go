// Package rule is the vocabulary in which locks and guards are written down: in a
// directive above a function, or in a file.
//
//	//interlock:lock name=pay key=req.OrderNo kind=fair wait=3s
//	//interlock:once name=order key=auth.User(ctx),req.Token retain=5m
//	//interlock:submit key=req.UserID window=5s
//
// A [Rule] is such a line as data. [Split] takes a line apart, [Parse] makes a Rule
// of it and tells every mistake in its place, with what to write instead; String
// prints it in one way only. [Rule.LockOptions] and [Rule.Policy] turn it into what
// packages interlock and guard take.
//
// In a directive a key is Go, and the compiler's business. In a file it is a
// [Template] such as pay:{path.id}, which refuses whatever lacks a part.
package rule
