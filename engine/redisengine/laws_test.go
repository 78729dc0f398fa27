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

// lease is that of the locks in the laws.
const lease = 1500 * time.Millisecond

// timeout returns the timeout of the engine for a law. It is long, so that a busy
// machine does not fail a call. A tombstone lasts for two timeouts, so the laws about
// its expiry need a short one.
func timeout(t testing.TB) time.Duration {
	if strings.Contains(t.Name(), "tombstone") {
		return 1400 * time.Millisecond
	}
	return patient
}

func TestLaws(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, enginetest.Harness{
		Name:  "Redis " + redistest.Version(t) + " (rueidis)",
		Lease: lease,
		Open: func(t testing.TB) engine.Engine {
			s := redistest.Start(t, redistest.SteppedClock)
			return clocked{open(t, s, redisengine.Timeout(timeout(t))), s}
		},
	})
	// What every engine with a patience would have to show, if its requests
	// could be held up on the way.
	t.Run("late", lateRequests)
	t.Run("late claims", lateClaims)
	// What only Redis has: clocks, keys and other people's things.
	t.Run("kinds", func(t *testing.T) {
		t.Run("an abandoned request of any kind is refused when it comes too late", TestKindsThatComeLate)
		t.Run("fences of every kind rise however the clock is set", TestFencesOfEveryKindRise)
		t.Run("neither a repetition nor a renewal shortens a lease", TestNoLeaseIsShortened)
		t.Run("every key of every kind has an end", TestEveryKeyHasAnEnd)
		t.Run("the dead in line are cleared away bit by bit", TestTheDeadInLineAreClearedAwayBitByBit)
		t.Run("who comes back late but before anybody else has its place", TestWhoComesBackStillHasItsPlace)
		t.Run("Redisson reads what we write", TestRedissonReadsWhatWeWrite)
		t.Run("what is no lock is left as it is", TestWhatIsNoLockIsLeftAsItIs)
	})
	t.Run("records", func(t *testing.T) {
		t.Run("the entries are as written down", TestRecordFormat)
		t.Run("the names are as written down", TestRecordNames)
		t.Run("what is no record is left as it is", TestWhatIsNoRecordIsLeftAsItIs)
		t.Run("a server without memory settles what it has", TestALedgerWithoutMemory)
		t.Run("records do not mind the clock", TestRecordsAndTheClock)
		t.Run("who listens is told, and nobody else", TestTheLobby)
		t.Run("a claim that is late or there twice is not granted", TestClaimScript)
	})
	// On a network that is slow enough for callers to meet, whatever the machine.
	t.Run("shared", func(t *testing.T) {
		t.Run("calls made at once share a trip", TestCallsMadeAtOnceShareATrip)
		t.Run("who is not simple is asked for alone", TestWhoIsNotSimpleIsAskedForAlone)
		t.Run("a trip takes nobody past the line", TestATripTakesNobodyPastTheLine)
		t.Run("claims made at once share a trip", TestClaimsMadeAtOnceShareATrip)
		t.Run("every answer of a trip is complete", TestEveryAnswerOfATripIsComplete)
		t.Run("of a crowd for one key one has it", TestOfACrowdForOneKeyOneHasIt)
		t.Run("one who may not publish does not spoil a trip", TestOneWhoMayNotPublishDoesNotSpoilATrip)
		t.Run("a large result travels alone", TestALargeResultTravelsAlone)
	})
}

// clocked is an engine whose server has a clock that can be moved.
type clocked struct {
	*redisengine.Engine
	server *redistest.Server
}

func (c clocked) Step(d time.Duration) { c.server.Step(d) }
