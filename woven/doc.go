// Package woven is what directives become: the code that is put into a function
// with one above it calls this package. Nobody calls it by hand.
//
//	//interlock:lock name=pay key=req.OrderNo wait=3s
//	func (s *Service) Pay(ctx context.Context, req PayRequest) (receipt Receipt, err error) {
//		ctx, held, ok := woven.Lock(ctx, &site, woven.Key1(req.OrderNo), &err) // put in
//		if !ok {                                                              // put in
//			return                                                            // put in
//		}                                                                     // put in
//		defer held.Done(&err)                                                 // put in
//		...
//	}
//
// Locks and guards are those of packages interlock and guard, on the client that
// the context carries, or else on the default one: see interlock.NewContext and
// interlock.SetDefault. What a [Site] needs is made when it is first used with a
// client, and kept.
//
// Whatever is wrong, the function does not run: with an empty key, an engine that
// is down, or a result that could not be returned again. It says so with a
// *[RefusedError], or panics with one if it has no way to return an error.
//
// # What is not promised
//
// The results that [Once] keeps are kept as JSON. A result type that JSON cannot
// give back whole is refused before the function runs for the first time; numbers
// in a value of type any come back as float64.
package woven
