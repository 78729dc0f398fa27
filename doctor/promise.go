package doctor

import "github.com/interlock-go/interlock/engine"

// A Promise is what an engine promises as it is set up, and what it does not.
type Promise struct {
	Row Row
	Of  Text // which engines it is the promise of

	Grants   Text // that the engine never has two holders of one lock
	Belief   Text // that no two processes think they hold it
	Fences   Text // that each holder's fence is above that of the one before
	Dead     Text // when a lock is free whose holder has died
	Survives Text // what may happen without a lock being lost
	Guard    Text // that guarded work happens once, and is answered again
}

// A Row names a row of the promise sheet.
type Row string

// The rows.
const (
	InProcess   Row = "in-process"
	NoFile      Row = "redis-no-aof"
	FileSecond  Row = "redis-aof-everysec"
	FileAlways  Row = "redis-aof-always"
	Failover    Row = "failover"
	FailoverAck Row = "failover-acks"
	Majority    Row = "quorum"
	TwoSides    Row = "standby"
)

// Unpromised is what no engine promises.
var NotPromised = Text{
	"no lock can stop a paused process from waking late: stop when the hold's context ends, and check the fence where a late write would hurt",
	"任何锁都拦不住一个卡住后又醒来的进程：持有的 context 一结束就停手，迟到的写入会造成损害的地方要校验栅栏号",
}

// Sheet returns all promises, from the smallest engine to the largest.
func AllPromises() []Promise {
	return []Promise{promiseByRow[InProcess], promiseByRow[NoFile], promiseByRow[FileSecond], promiseByRow[FileAlways],
		promiseByRow[Failover], promiseByRow[FailoverAck], promiseByRow[Majority], promiseByRow[TwoSides]}
}

// promises are those of an engine, and of both sides of a standby.
func promises(h engine.Health) []Promise {
	all := []Promise{promiseByRow[row(h)]}
	if h.Topology == engine.Standby {
		for _, part := range h.Parts {
			all = append(all, promiseByRow[row(part)])
		}
	}
	return all
}

// row finds the row of an engine: that of its weakest server.
func row(h engine.Health) Row {
	switch h.Topology {
	case engine.Embedded:
		return InProcess
	case engine.Quorum:
		return Majority
	case engine.Standby:
		return TwoSides
	case engine.Sentinel, engine.Cluster:
		for _, n := range h.Nodes {
			if n.Role == engine.Primary && (h.Acks == "" || n.MinReplicas == 0) {
				return Failover
			}
		}
		return FailoverAck
	}
	weakest := FileAlways
	for _, n := range h.Nodes {
		switch n.AppendOnly {
		case "always":
		case "everysec", "yes", "no sync":
			weakest = FileSecond
		default:
			return NoFile
		}
	}
	return weakest
}

// What several rows say.
var (
	whileAwake = Text{
		"as the grants, as long as no holder is paused for longer than its lease has left",
		"与授予相同，前提是持有者没有卡住超过剩余租期",
	}
	byTheClock = Text{
		"rise as long as the server's clock is not set back; with Fenced they rise all the same",
		"只要服务器时钟不往回调就递增；用 Fenced 则无论如何都递增",
	}
	sameClocks = Text{
		"yes, while the server runs, clocks keep the same pace to 1 %, and nobody evicts or deletes keys",
		"是，前提是服务器在运行、时钟快慢相差不超过 1 %，且没有人淘汰或删除 key",
	}
)

// sheet is the promise sheet. docs/engines.md says the same, which a test checks.
var promiseByRow = map[Row]Promise{
	InProcess: {InProcess,
		Text{"the embedded engine", "内嵌引擎"},
		Text{"yes, in this process", "是，限本进程"},
		Text{"yes, among the goroutines of this process", "是，限本进程的 goroutine 之间"},
		Text{"rise in this process; a new process begins anew, at the time of day", "在本进程内递增；新进程从当前时间重新开始"},
		Text{"within its lease", "租期之内"},
		Text{"nothing: all ends with the process", "什么也不能：一切随进程结束"},
		Text{"once, and answered again, while the process lives", "进程存活期间只执行一次，并可重放结果"}},
	NoFile: {NoFile,
		Text{"one Redis server without an append-only file", "单台 Redis，无 AOF"},
		sameClocks, whileAwake, byTheClock,
		Text{"within its lease", "租期之内"},
		Text{"nothing: a restart forgets all, or all since the last snapshot", "什么也不能：重启即忘掉全部，或忘掉上次快照之后的全部"},
		Text{"once, and answered again, until the server restarts", "服务器重启之前只执行一次，并可重放结果"}},
	FileSecond: {FileSecond,
		Text{"one Redis server, appendfsync everysec", "单台 Redis，appendfsync everysec"},
		sameClocks, whileAwake, byTheClock,
		Text{"within its lease, and a restart", "租期加一次重启之内"},
		Text{"a crash of the server's process; a power cut forgets about a second of grants", "服务器进程崩溃；断电约丢一秒内的授予"},
		Text{"once, and answered again, but for about a second of claims on a power cut", "只执行一次，并可重放结果；断电时约一秒内的除外"}},
	FileAlways: {FileAlways,
		Text{"one Redis server, appendfsync always", "单台 Redis，appendfsync always"},
		Text{"yes, while clocks keep the same pace to 1 %, and nobody evicts or deletes keys",
			"是，前提是时钟快慢相差不超过 1 %，且没有人淘汰或删除 key"},
		whileAwake, byTheClock,
		Text{"within its lease, and a restart", "租期加一次重启之内"},
		Text{"a crash and a power cut, if the disk keeps what it was given; not the loss of the disk",
			"崩溃和断电（只要磁盘保住已写入的内容）；磁盘损坏除外"},
		Text{"once, and answered again", "只执行一次，并可重放结果"}},
	Failover: {Failover,
		Text{"Redis behind sentinels, or a cluster", "哨兵或集群模式的 Redis"},
		Text{"as one server, but best effort across a failover: the new primary may not have heard of a grant, and grants the lock again",
			"与单台相同，但跨故障切换时只是尽力而为：新主节点可能没收到某次授予，会把锁再授一次"},
		Text{"not across a failover", "跨故障切换时不保证"},
		Text{"rise across a failover if the new primary's clock is not behind", "新主节点时钟不落后时，跨切换也递增"},
		Text{"within its lease, and a failover", "租期加一次故障切换之内"},
		Text{"the loss of a primary, with a double grant possible", "失去主节点，但可能重复授予"},
		Text{"once, and answered again, best effort across a failover", "只执行一次，并可重放结果；跨故障切换时尽力而为"}},
	FailoverAck: {FailoverAck,
		Text{"the same with acks and min-replicas-to-write", "同上，并启用 acks 与 min-replicas-to-write"},
		Text{"as above, and a double grant needs more to go wrong: a replica has heard of every grant, but another may be promoted",
			"同上，但要出更多差错才会重复授予：每次授予都有副本收到，只是被提升的可能是另一个"},
		Text{"not across a failover", "跨故障切换时不保证"},
		Text{"rise across a failover if the new primary's clock is not behind", "新主节点时钟不落后时，跨切换也递增"},
		Text{"within its lease, and a failover", "租期加一次故障切换之内"},
		Text{"the loss of a primary, with a double grant unlikely; without replicas nothing is granted",
			"失去主节点，重复授予的可能很小；没有副本时不授予"},
		Text{"once, and answered again, best effort across a failover", "只执行一次，并可重放结果；跨故障切换时尽力而为"}},
	Majority: {Majority,
		Text{"a quorum of independent servers", "多台独立服务器组成的仲裁"},
		Text{"yes, while a majority is reachable and remembers, and clocks keep the same pace to 1 %; a node that was started anew sits out",
			"是，前提是多数节点可达且没有失忆、时钟快慢相差不超过 1 %；刚重启的节点暂不计入"},
		whileAwake,
		Text{"plain ones go by the nodes' clocks and may fall by as much as they differ; with Fenced they rise as long as a majority remembers the last one",
			"普通的随各节点时钟，差多少就可能回退多少；用 Fenced 时，只要多数节点记得上一个就递增"},
		Text{"within its lease", "租期之内"},
		Text{"the loss of a minority: one of three, two of five", "失去少数节点：三个里一个，五个里两个"},
		Text{"not offered: a record of work needs one home", "不提供：执行记录必须有唯一的归宿"}},
	TwoSides: {TwoSides,
		Text{"two engines with a switch", "两个引擎加一个切换开关"},
		Text{"as the side that counts; after an automatic or forced switch a double grant is possible, and such switches are counted",
			"与当前生效的一侧相同；自动或强制切换后可能重复授予，此类切换会计数"},
		Text{"as the side that counts; locks are not copied, and who holds one is told that it is lost",
			"与当前生效的一侧相同；锁不会复制过去，持有者会被告知锁已丢失"},
		Text{"rise over a switch if the new side's clock is not behind by more than the quiet time",
			"新一侧时钟落后不超过静默期时，跨切换也递增"},
		Text{"within its lease, and the quiet time after a switch", "租期之内，切换后再加静默期"},
		Text{"the loss of one side, by an operator's switch", "失去一侧，由运维人员切换"},
		Text{"once, and answered again, as long as both sides can be asked", "两侧都问得到时只执行一次，并可重放结果"}},
}
