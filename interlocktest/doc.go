// Package interlocktest helps to test programs that use Interlock: it has an engine that
// fails on command, and assertions such as "ran once".
//
//	func TestOrderIsPlacedOnce(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			world := interlocktest.New(t)
//			shop := NewShop(world.Client())
//			placed := interlocktest.Count(t, "placing an order")
//			shop.Place = func(ctx context.Context, c Cart) (Order, error) { placed.Mark(); … }
//
//			world.LoseReply(interlocktest.Settle, 1)
//			interlocktest.Together(100, func(int) { shop.Submit(ctx, cart) })
//
//			placed.Once()
//		})
//	}
//
// It needs no server, and works in a bubble of testing/synctest, where leases and windows
// pass in virtual time.
package interlocktest
