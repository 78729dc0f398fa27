package doctor

import "github.com/interlock-go/interlock/engine"

// A Guarantee lists the guarantees of an engine and their limits.
type Guarantee struct {
	Row Row
	Of  Text // the kind of engine

	Grants      Text // whether the engine never grants a lock twice
	Workers     Text // whether no two processes work under the lock at once
	Fences      Text // whether each fence is above the previous one
	FreedWithin Text // when a lock is free after its holder has crashed
	Survives    Text // failures that lose no lock
	Guard       Text // whether guarded work runs once and is replayed
}

// A Row names a kind of engine in the table of guarantees.
type Row string

// The rows.
const (
	InProcess   Row = "in-process"         // the embedded engine
	NoFile      Row = "redis-no-aof"       // a restart loses locks
	FileSecond  Row = "redis-aof-everysec" // a power cut loses about a second
	FileAlways  Row = "redis-aof-always"   // every grant is on disk before its answer
	Failover    Row = "failover"           // sentinels or a cluster, with asynchronous replication
	FailoverAck Row = "failover-acks"      // the same, but every grant is on a replica
	Majority    Row = "quorum"             // independent servers
	TwoSides    Row = "standby"            // two engines and a switch

	PostgresAsync Row = "postgres-async-replica" // a failover or a crash loses the last grants
	PostgresSync  Row = "postgres-sync"          // one server, or synchronous replicas
	MySQLAsync    Row = "mysql-async-replica"    // a failover or a crash loses the last grants
	MySQLSync     Row = "mysql-sync"             // one server, or semi-synchronous replicas
	EtcdCluster   Row = "etcd"
	Ensemble      Row = "zookeeper"
)

// NotGuaranteed is the limit of every engine.
var NotGuaranteed = Text{
	"no lock can stop a process that was paused and resumes late: stop when the hold's context ends, and check the fence before a harmful write",
	"任何锁都拦不住一个卡住后又醒来的进程：持有的 context 一结束就停手，迟到的写入会造成损害的地方要校验栅栏号",
}

// AllGuarantees returns the guarantees of all kinds of engines, from the smallest to the
// largest. A map has no order, so the rows are listed here.
func AllGuarantees() []Guarantee {
	return []Guarantee{guaranteeByRow[InProcess], guaranteeByRow[NoFile], guaranteeByRow[FileSecond], guaranteeByRow[FileAlways],
		guaranteeByRow[Failover], guaranteeByRow[FailoverAck], guaranteeByRow[PostgresAsync], guaranteeByRow[PostgresSync],
		guaranteeByRow[MySQLAsync], guaranteeByRow[MySQLSync], guaranteeByRow[EtcdCluster], guaranteeByRow[Ensemble], guaranteeByRow[Majority], guaranteeByRow[TwoSides]}
}

// guarantees returns the guarantees of an engine and, for a standby, of both sides. A
// standby has those of its active side, whichever that is. The nodes of a quorum
// guarantee nothing on their own.
func guarantees(h engine.Health) []Guarantee {
	all := []Guarantee{guaranteeByRow[row(h)]}
	if h.Topology == engine.Standby {
		for _, part := range h.Parts {
			all = append(all, guaranteeByRow[row(part)])
		}
	}
	return all
}

// row returns the row of an engine, which depends on its weakest server.
func row(h engine.Health) Row {
	switch productOf(h) {
	case engine.PostgreSQL:
		return postgresRow(h)
	case engine.MySQL:
		return mysqlRow(h)
	case engine.Etcd:
		return EtcdCluster
	case engine.ZooKeeper:
		return Ensemble
	}
	switch h.Topology {
	case engine.Embedded:
		return InProcess
	case engine.Quorum:
		return Majority
	case engine.Standby:
		return TwoSides
	// A replica takes over and may lack the last grants, whatever is on disk. Acks count
	// only if every primary also refuses writes without a replica.
	case engine.Sentinel, engine.Cluster:
		for _, n := range h.Nodes {
			if n.Role == engine.Primary && (h.Acks == "" || n.MinReplicas == 0) {
				return Failover
			}
		}
		return FailoverAck
	}
	// One server, or a topology that this version does not know.
	weakest := FileAlways
	for _, n := range h.Nodes {
		switch n.AppendOnly {
		case "always":
		// "yes" means that the server hides how often it syncs; every second is usual.
		case "everysec", "yes", "no-sync":
			weakest = FileSecond
		// "no", or unknown: assume the least.
		default:
			return NoFile
		}
	}
	return weakest
}

// postgresRow returns the row of PostgreSQL, which depends on its weakest server.
func postgresRow(h engine.Health) Row {
	for _, n := range h.Nodes {
		if n.AppendOnly != "always" || n.Replicas > 0 && n.MinReplicas == 0 {
			return PostgresAsync
		}
	}
	return PostgresSync
}

// Texts of several rows.
var (
	// For engines that grant a lock once: a paused holder does not notice the end of its
	// lease.
	whileAwake = Text{
		"like grants, as long as no holder is paused for longer than its lease has left",
		"与授予相同，前提是持有者没有卡住超过剩余租期",
	}
	// For engines whose fences come from the server's clock.
	byTheClock = Text{
		"rise unless the server's clock is set back; with Fenced they always rise",
		"只要服务器时钟不往回调就递增；用 Fenced 则无论如何都递增",
	}
	// The client gives up a lease 1 % early, for clocks that drift apart.
	sameClocks = Text{
		"yes, while the server runs, clock rates differ by at most 1 %, and no key is evicted or deleted",
		"是，前提是服务器在运行、时钟快慢相差不超过 1 %，且没有人淘汰或删除 key",
	}
)

// guaranteeByRow is the table of guarantees. A test compares it with docs/engines.md.
var guaranteeByRow = map[Row]Guarantee{
	InProcess: {InProcess,
		Text{"the embedded engine", "内嵌引擎"},
		Text{"yes, in this process", "是，限本进程"},
		Text{"yes, among the goroutines of this process", "是，限本进程的 goroutine 之间"},
		Text{"rise in this process; a new process starts at its current time", "在本进程内递增；新进程从当前时间重新开始"},
		Text{"within its lease", "租期之内"},
		Text{"nothing: all locks end with the process", "什么也不能：一切随进程结束"},
		Text{"run once and replayed, while the process lives", "进程存活期间只执行一次，并可重放结果"}},
	NoFile: {NoFile,
		Text{"one Redis server without an append-only file", "单台 Redis，无 AOF"},
		sameClocks, whileAwake, byTheClock,
		Text{"within its lease", "租期之内"},
		Text{"nothing: a restart loses all locks, or all since the last snapshot", "什么也不能：重启即忘掉全部，或忘掉上次快照之后的全部"},
		Text{"run once and replayed, until the server restarts", "服务器重启之前只执行一次，并可重放结果"}},
	FileSecond: {FileSecond,
		Text{"one Redis server, appendfsync everysec", "单台 Redis，appendfsync everysec"},
		sameClocks, whileAwake, byTheClock,
		Text{"within its lease and a restart", "租期加一次重启之内"},
		Text{"a crash of the server's process; a power cut loses about a second of grants", "服务器进程崩溃；断电约丢一秒内的授予"},
		Text{"run once and replayed; a power cut loses about a second of claims", "只执行一次，并可重放结果；断电时约一秒内的除外"}},
	FileAlways: {FileAlways,
		Text{"one Redis server, appendfsync always", "单台 Redis，appendfsync always"},
		Text{"yes, while clock rates differ by at most 1 %, and no key is evicted or deleted",
			"是，前提是时钟快慢相差不超过 1 %，且没有人淘汰或删除 key"},
		whileAwake, byTheClock,
		Text{"within its lease and a restart", "租期加一次重启之内"},
		Text{"a crash and a power cut, if the disk keeps synced data; not the loss of the disk",
			"崩溃和断电（只要磁盘保住已写入的内容）；磁盘损坏除外"},
		Text{"run once and replayed", "只执行一次，并可重放结果"}},
	Failover: {Failover,
		Text{"Redis behind sentinels, or a cluster", "哨兵或集群模式的 Redis"},
		Text{"like one server, but best effort across a failover: the new primary may lack a grant and grant the lock again",
			"与单台相同，但跨故障切换时只是尽力而为：新主节点可能没收到某次授予，会把锁再授一次"},
		Text{"not across a failover", "跨故障切换时不保证"},
		Text{"rise across a failover if the new primary's clock is not behind", "新主节点时钟不落后时，跨切换也递增"},
		Text{"within its lease and a failover", "租期加一次故障切换之内"},
		Text{"the loss of a primary, with a double grant possible", "失去主节点，但可能重复授予"},
		Text{"run once and replayed, best effort across a failover", "只执行一次，并可重放结果；跨故障切换时尽力而为"}},
	FailoverAck: {FailoverAck,
		Text{"the same with acks and min-replicas-to-write", "同上，并启用 acks 与 min-replicas-to-write"},
		Text{"as above, but a double grant needs more failures: every grant is on a replica, but another replica may be promoted",
			"同上，但要出更多差错才会重复授予：每次授予都有副本收到，只是被提升的可能是另一个"},
		Text{"not across a failover", "跨故障切换时不保证"},
		Text{"rise across a failover if the new primary's clock is not behind", "新主节点时钟不落后时，跨切换也递增"},
		Text{"within its lease and a failover", "租期加一次故障切换之内"},
		Text{"the loss of a primary, with a double grant unlikely; without replicas nothing is granted",
			"失去主节点，重复授予的可能很小；没有副本时不授予"},
		Text{"run once and replayed, best effort across a failover", "只执行一次，并可重放结果；跨故障切换时尽力而为"}},
	Majority: {Majority,
		Text{"a quorum of independent servers", "多台独立服务器组成的仲裁"},
		Text{"yes, while a majority is reachable and has not lost its data, and clock rates differ by at most 1 %; a restarted node is on probation",
			"是，前提是多数节点可达且没有丢失数据、时钟快慢相差不超过 1 %；刚重启的节点处于观察期，暂不计入"},
		whileAwake,
		Text{"plain fences follow the nodes' clocks and may fall by their difference; with Fenced they rise as long as a majority has the last one",
			"普通的随各节点时钟，差多少就可能回退多少；用 Fenced 时，只要多数节点记得上一个就递增"},
		Text{"within its lease", "租期之内"},
		Text{"the loss of a minority: one of three, two of five", "失去少数节点：三个里一个，五个里两个"},
		Text{"not supported: a record must be on one engine", "不支持：执行记录必须放在同一个引擎上"}},
	PostgresAsync: {PostgresAsync,
		Text{"PostgreSQL with an asynchronous replica, or without synchronous commits", "PostgreSQL，副本异步或提交不同步"},
		Text{"yes, while the server runs and clock rates differ by at most 1 %; a crash or a failover may forget the last grants and grant those locks again",
			"是，前提是服务器在运行、时钟快慢相差不超过 1 %；崩溃或故障切换可能忘掉最后的授予，把锁再授一次"},
		Text{"not across a crash or a failover", "跨崩溃或故障切换时不保证"},
		Text{"always rise, except that the last ones may repeat after a crash or a failover", "总是递增，但崩溃或故障切换后，最后几个可能重复"},
		Text{"within its lease and a restart or a failover", "租期加一次重启或故障切换之内"},
		Text{"the loss of a server, with a double grant possible", "失去一台服务器，但可能重复授予"},
		Text{"run once and replayed; a crash or a failover may lose the last claims; in a transaction of the caller, claim and work are lost together",
			"只执行一次，并可重放结果；崩溃或故障切换可能丢掉最后的记录；在调用方事务里时，记录与工作一起丢失"}},
	PostgresSync: {PostgresSync,
		Text{"PostgreSQL, one server or with a synchronous replica", "PostgreSQL，单台或有同步副本"},
		Text{"yes, while clock rates differ by at most 1 % and the server's clock is not set back or forward",
			"是，前提是时钟快慢相差不超过 1 %，且没有人拨动服务器时钟"},
		whileAwake,
		Text{"always rise: they come from a sequence", "总是递增：取自一个序列"},
		Text{"within its lease and a restart or a failover", "租期加一次重启或故障切换之内"},
		Text{"a crash and a power cut, if the disk keeps synced data; with a synchronous replica also the loss of a server",
			"崩溃和断电（只要磁盘保住已写入的内容）；有同步副本时，还包括失去一台服务器"},
		Text{"run once and replayed; in a transaction of the caller, work and record commit together and no outcome is unknown",
			"只执行一次，并可重放结果；在调用方事务里时，工作与记录一起提交，不会有未知结果"}},
	MySQLAsync: {MySQLAsync,
		Text{"MySQL or MariaDB with an asynchronous replica, or without synchronous commits", "MySQL 或 MariaDB，副本异步或提交不同步"},
		Text{"yes, while the server runs and clock rates differ by at most 1 %; a power cut or a failover may forget the last grants and grant those locks again",
			"是，前提是服务器在运行、时钟快慢相差不超过 1 %；断电或故障切换可能忘掉最后的授予，把锁再授一次"},
		Text{"not across a power cut or a failover", "跨断电或故障切换时不保证"},
		Text{"always rise, except that the last ones may repeat after a power cut or a failover", "总是递增，但断电或故障切换后，最后几个可能重复"},
		Text{"within its lease and a restart or a failover", "租期加一次重启或故障切换之内"},
		Text{"the loss of a server, with a double grant possible", "失去一台服务器，但可能重复授予"},
		Text{"run once and replayed; a power cut or a failover may lose the last claims; in a transaction of the caller, claim and work are lost together",
			"只执行一次，并可重放结果；断电或故障切换可能丢掉最后的记录；在调用方事务里时，记录与工作一起丢失"}},
	MySQLSync: {MySQLSync,
		Text{"MySQL or MariaDB, one server or with semi-synchronous replicas", "MySQL 或 MariaDB，单台或有半同步副本"},
		Text{"yes, while clock rates differ by at most 1 % and the server's clock is not set back or forward",
			"是，前提是时钟快慢相差不超过 1 %，且没有人拨动服务器时钟"},
		whileAwake,
		Text{"always rise: they come from an AUTO_INCREMENT", "总是递增：取自 AUTO_INCREMENT"},
		Text{"within its lease and a restart or a failover", "租期加一次重启或故障切换之内"},
		Text{"a crash and a power cut, if the disk keeps synced data; with a semi-synchronous replica also the loss of a server, while the replica keeps up",
			"崩溃和断电（只要磁盘保住已写入的内容）；有半同步副本且它没有掉队时，还包括失去一台服务器"},
		Text{"run once and replayed; in a transaction of the caller, work and record commit together and no outcome is unknown",
			"只执行一次，并可重放结果；在调用方事务里时，工作与记录一起提交，不会有未知结果"}},
	EtcdCluster: {EtcdCluster,
		Text{"etcd", "etcd"},
		Text{"yes, while clock rates differ by at most 1 %: the leader ends leases, and a new leader begins them again",
			"是，前提是时钟快慢相差不超过 1 %：租期由领导者结束，换了领导者则重新计时"},
		whileAwake,
		Text{"always rise: they are revisions, which go back only if a backup is restored without a bump",
			"总是递增：即修订号，只有恢复备份且没有抬高修订号时才会回退"},
		Text{"within its lease and a second; after an election within another lease", "租期加一秒之内；换领导者后再加一个租期"},
		Text{"the loss of a minority: one of three, two of five", "失去少数节点：三个里一个，五个里两个"},
		Text{"run once and replayed", "只执行一次，并可重放结果"}},
	Ensemble: {Ensemble,
		Text{"ZooKeeper", "ZooKeeper"},
		Text{"yes, while clock rates differ by at most 1 % and the servers' clocks agree within 1 % of a lease",
			"是，前提是时钟快慢相差不超过 1 %，且各服务器时钟相差不超过租期的 1 %"},
		whileAwake,
		Text{"always rise: they are transaction ids, which start again only if the data is deleted", "总是递增：即事务编号，只有数据被删除才会重新开始"},
		Text{"within its lease and an election", "租期加一次选举之内"},
		Text{"the loss of a minority: one of three, two of five", "失去少数节点：三个里一个，五个里两个"},
		Text{"run once and replayed", "只执行一次，并可重放结果"}},
	TwoSides: {TwoSides,
		Text{"a primary and a standby engine", "两个引擎加一个切换开关"},
		Text{"like the active side; after an automatic or forced switch a double grant is possible, and such switches are counted",
			"与当前生效的一侧相同；自动或强制切换后可能重复授予，此类切换会计数"},
		Text{"like the active side; locks are not copied, and a switch makes holders lose them",
			"与当前生效的一侧相同；锁不会复制过去，切换会使持有者失去锁"},
		Text{"rise across a switch if the new side's clock is not behind by more than the freeze",
			"新一侧时钟落后不超过冻结期时，跨切换也递增"},
		Text{"within its lease and the freeze after a switch", "租期之内，切换后再加冻结期"},
		Text{"the loss of one side, after an operator has switched", "失去一侧，由运维人员切换之后"},
		Text{"run once and replayed, while both sides are reachable", "两侧都问得到时只执行一次，并可重放结果"}},
}
