// Package woven implements directives: the code that weaving inserts into a function
// calls this package. Programs do not call it directly.
//
//	//interlock:lock name=pay key=req.OrderNo wait=3s
//	func (s *Service) Pay(ctx context.Context, req PayRequest) (receipt Receipt, err error) {
//		var call woven.Call                                             // inserted
//		defer call.Done(&err)                                           // inserted
//		ctx = call.Lock(ctx, &site, woven.Key1(req.OrderNo), &err)      // inserted
//		if call.Refused {                                               // inserted
//			return                                                      // inserted
//		}                                                               // inserted
//		...
//	}
//
// It uses the client of the context, or else the default client: see
// interlock.NewContext and interlock.SetDefault. A [Site] makes its lock or guard on
// first use with a client.
//
// The function does not run if anything fails: the key is empty, the engine is down, or
// the result type cannot be replayed. It then returns a *[RefusedError], or panics with
// one if the function has no error result.
//
// # Results
//
// [GuardedCall.Once] stores results as JSON. A result type that JSON cannot restore is refused
// before the function first runs. See [guard.JSON] for numbers in a value of type any.
package woven
