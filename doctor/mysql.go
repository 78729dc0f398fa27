package doctor

import (
	"strings"

	"github.com/interlock-go/interlock/engine"
)

// mysqls contains findings about MySQL and MariaDB.
var mysqls = map[Code]entry{
	InnoDBFlush: {Warn,
		Text{"innodb_flush_log_at_trx_commit is %s", "innodb_flush_log_at_trx_commit 为 %s"},
		Text{"a power cut, and with 0 also a crash of the server, loses about a second of grants: they are granted again, and guarded work may run again",
			"断电会丢掉约一秒的授予（为 0 时服务器崩溃也会）：锁会授给别人，已做过的事可能再做一遍"},
		Text{"sync every commit", "让每次提交都落盘"},
		[]string{"SET GLOBAL innodb_flush_log_at_trx_commit = 1"}},
	BinlogSync: {Warn,
		Text{"sync_binlog is %s", "sync_binlog 为 %s"},
		Text{"a power cut loses the last grants, which replicas may have: they are granted again, and guarded work may run again",
			"断电会丢掉最后的授予，副本上却可能还有：锁会授给别人，已做过的事可能再做一遍"},
		Text{"sync the binary log with every commit", "每次提交都同步二进制日志"},
		[]string{"SET GLOBAL sync_binlog = 1"}},
	AsyncReplicas: {Warn,
		Text{"replicas connected: %d, and the server does not wait for any", "连着 %d 个副本，服务器不等待其中任何一个"},
		Text{"a replica that takes over may lack the last grants, and grant those locks again with the same fences",
			"接管的副本可能没收到最后的授予，会再授一次，栅栏号也会重复"},
		Text{"use semi-synchronous replication, or use Fenced and check the fence in the store", "使用半同步复制，或使用 Fenced 并在写入处校验栅栏号"},
		[]string{"SET GLOBAL rpl_semi_sync_master_enabled = ON"}},
	ServerReadOnly: {Fail,
		Text{"this server is read-only", "这台服务器只读"},
		Text{"it refuses writes, so no lock can be acquired here, except by users with special permissions",
			"它不接受写入，除非用户有特殊权限，在这里拿不到任何锁"},
		Text{"use the address of the primary, or of a proxy that finds it", "改用主库的地址，或能找到主库的代理的地址"},
		[]string{"SELECT @@read_only"}},
	SeveralPrimaries: {Fail,
		Text{"wsrep_on is ON: the server is part of a Galera cluster", "wsrep_on 为 ON：服务器属于 Galera 集群"},
		Text{"fences of locks that processes acquire on different servers need not rise, and more calls fail because of conflicts",
			"各进程从不同服务器拿锁时，栅栏号不保证递增，冲突造成的失败也更多"},
		Text{"let all processes use one server of the cluster, through a proxy that sends all writes to it", "让所有进程只用集群里的同一台，例如通过把写入都发给它的代理"},
		[]string{"SHOW STATUS LIKE 'wsrep_cluster_size'"}},
	UserPrivileges: {Fail,
		Text{"the user lacks: %s", "该用户缺少权限：%s"},
		Text{"locks and records cannot be stored", "锁和执行记录无法保存"},
		Text{"grant the permissions that docs/mysql.md lists", "按 docs/mysql.md 授权"},
		[]string{"GRANT SELECT, INSERT, UPDATE, DELETE ON <database>.* TO <user>"}},
	FewConnections: {Warn,
		Text{"connections in use: %d of %d", "连接数 %d，上限 %d"},
		Text{"when no connection is left, calls that need a new one fail, and processes cannot start", "没有空闲连接之后，需要新连接的调用会失败，进程也启动不了"},
		Text{"raise max_connections, or lower pool in the URL", "调大 max_connections，或调小 URL 里的 pool"},
		[]string{"SHOW PROCESSLIST"}},
	RollbackOnTimeout: {Note,
		Text{"innodb_rollback_on_timeout is ON", "innodb_rollback_on_timeout 为 ON"},
		Text{"guards in a transaction of the caller are refused: the server would roll it back when it meets a locked key",
			"不能在调用方事务里使用幂等执行：遇到被锁的 key 时，服务器会回滚整个事务"},
		Text{"set it to OFF if you use DoTx; it needs a restart", "使用 DoTx 时把它设为 OFF，需要重启"},
		nil},
}

// mysql examines a server that answers.
func (x *exam) mysql(n engine.Node) {
	if tooOld(n.Version) {
		x.find(OldServer, n.Addr, n.Version, "MySQL / MariaDB", "8.0 / 10.6")
	}
	if n.Role == engine.Replica {
		x.find(ServerReadOnly, n.Addr)
		return // its settings do not matter here
	}
	x.innodb(n)
	// 85 % leaves time to react before calls fail.
	if n.MaxConnections > 0 && n.Connections >= n.MaxConnections*85/100 {
		x.find(FewConnections, n.Addr, n.Connections, n.MaxConnections)
	}
	if len(n.Denied) > 0 {
		x.find(UserPrivileges, n.Addr, strings.Join(n.Denied, ", "))
	}
	if n.Settings["wsrep_on"] == "ON" {
		x.find(SeveralPrimaries, n.Addr)
	}
	if n.Settings["innodb_rollback_on_timeout"] == "ON" {
		x.find(RollbackOnTimeout, n.Addr)
	}
	x.clock(n)
}

// tooOld reports whether a server lacks SELECT … FOR UPDATE SKIP LOCKED.
func tooOld(version string) bool {
	if strings.Contains(version, "MariaDB") {
		return before(version, 10, 6)
	}
	return before(version, 8, 0)
}

// innodb examines what a crash, a power cut or a failover loses. A restarted node of a
// quorum is on probation, so in a quorum a finding about its disk is only a note.
func (x *exam) innodb(n engine.Node) {
	severity := Warn
	if x.inQuorum {
		severity = Note
	}
	if flush := n.Settings["innodb_flush_log_at_trx_commit"]; flush != "" && flush != "1" {
		x.findAs(severity, InnoDBFlush, n.Addr, flush)
	}
	if sync := n.Settings["sync_binlog"]; n.Settings["log_bin"] == "ON" && sync != "" && sync != "1" {
		x.findAs(severity, BinlogSync, n.Addr, sync)
	}
	if n.Replicas > 0 && n.MinReplicas == 0 {
		x.find(AsyncReplicas, n.Addr, n.Replicas)
	}
}

// mysqlRow returns the row of MySQL, which depends on its weakest server.
func mysqlRow(h engine.Health) Row {
	for _, n := range h.Nodes {
		if n.AppendOnly != "always" || n.Replicas > 0 && n.MinReplicas == 0 {
			return MySQLAsync
		}
	}
	return MySQLSync
}
