package redisengine_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// TestMain runs more tests in parallel than there are cores: most of them wait for a
// lease to expire.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("12")
	}
	os.Exit(m.Run())
}

// lease is the lease of the locks in the laws.
const lease = 1500 * time.Millisecond

// timeout returns the timeout of the engine for a law. It is long, so that a busy
// machine does not fail a call. A tombstone lasts for two timeouts, so the laws about
// its expiry need a short one.
func timeout(t testing.TB) time.Duration {
	if strings.Contains(t.Name(), "tombstone") {
		return 1400 * time.Millisecond
	}
	return testTimeout
}

func TestLaws(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, enginetest.Harness{
		Name:  "Redis " + redistest.Version(t) + " (rueidis)",
		Lease: lease,
		Open:  func(t testing.TB) engine.Engine { return open(t, redistest.Start(t), redisengine.Timeout(timeout(t))) },
		Clocked: func(t testing.TB) engine.Engine {
			s := redistest.Start(t, redistest.SteppedClock)
			s.NeedsClock(t)
			return clocked{open(t, s, redisengine.Timeout(timeout(t))), s}
		},
	})
	// Laws for engines with a LateGrant, whose requests can be held on the network.
	t.Run("late", lateRequests)
	t.Run("late claims", lateClaims)
	// Only Redis has a clock of its own, keys, and other data.
	t.Run("kinds", func(t *testing.T) {
		t.Run("a late request of any kind that was abandoned is refused", TestLateRequestsOfEveryKindAreRefused)
		t.Run("fences of every kind rise however the clock is set", TestFencesOfEveryKindRise)
		t.Run("neither a repeated attempt nor a renewal shortens a lease", TestNoLeaseIsShortened)
		t.Run("every key of every kind expires", TestEveryKeyExpires)
		t.Run("expired waiters are removed in steps", TestExpiredWaitersAreRemovedInSteps)
		t.Run("a late waiter keeps its position if no other has taken it", TestALateWaiterKeepsItsPosition)
		t.Run("Redisson reads Go's locks", TestRedissonReadsGoLocks)
		t.Run("Redisson's waiters wait in the queue of a fair lock", TestFairWithRedisson)
		t.Run("a forced release notifies the waiters of every kind", TestForceRelease)
		t.Run("locks do not change other data", TestOtherDataIsNotChangedByLocks)
	})
	t.Run("records", func(t *testing.T) {
		t.Run("the entries have the documented format", TestRecordFormat)
		t.Run("the names have the documented format", TestRecordNames)
		t.Run("records do not change other data", TestOtherDataIsNotChangedByRecords)
		t.Run("a server without memory settles the claims that it has granted", TestALedgerWithoutMemory)
		t.Run("records do not depend on the clock", TestRecordsAndTheClock)
		t.Run("settlements are published to subscribers only", TestSettlementsArePublishedToSubscribersOnly)
		t.Run("a late or duplicate claim is not granted", TestClaimScript)
	})
	// The network is so slow that calls overlap on any machine.
	t.Run("shared", func(t *testing.T) {
		t.Run("concurrent calls share a batch", TestConcurrentCallsShareABatch)
		t.Run("locks that a batch cannot handle get their own call", TestLocksThatABatchCannotHandleGetTheirOwnCall)
		t.Run("a batch does not overtake the queue", TestABatchDoesNotOvertakeTheQueue)
		t.Run("concurrent claims share a batch", TestConcurrentClaimsShareABatch)
		t.Run("every answer of a batch is complete", TestEveryAnswerOfABatchIsComplete)
		t.Run("one of many concurrent claims is granted", TestOneOfManyConcurrentClaimsIsGranted)
		t.Run("a forbidden settlement does not fail its batch", TestAForbiddenSettlementDoesNotFailItsBatch)
		t.Run("a large result is not batched", TestALargeResultIsNotBatched)
	})
}

// clocked is an engine whose server's clock can be set.
type clocked struct {
	*redisengine.Engine
	server *redistest.Server
}

func (c clocked) Step(d time.Duration) { c.server.Step(d) }
