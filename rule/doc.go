// Package rule describes locks, guards and quotas as data: in a directive above a function, or
// in a configuration file.
//
//	//interlock:lock name=pay key=req.OrderNo kind=fair wait=3s
//	//interlock:once name=order key=auth.User(ctx),req.Token retain=5m
//	//interlock:submit key=req.UserID window=5s
//	//interlock:limit name=orders key=req.UserID rate=3/day zone=Asia/Shanghai
//
// A [Rule] is such a line as data. [Split] splits a line into options. [Parse] makes a
// Rule of them and reports every mistake with its position and a correction. String
// prints a Rule in its canonical form. [Rule.LockOptions] and [Rule.Policy] convert it
// for packages interlock and guard.
//
// In a directive a key is a Go expression, which the compiler checks. In a file it is a
// [Template] such as pay:{path.id}, which refuses a request that lacks a part.
package rule
