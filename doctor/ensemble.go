package doctor

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/engine"
)

// ensembles contains findings about etcd and ZooKeeper.
var ensembles = map[Code]entry{
	OneMember: {Warn,
		Text{"this is the only server", "只有这一台服务器"},
		Text{"no server can replace it: if it fails, its locks are unavailable until it is back", "没有人能接替它：它一旦宕机，在恢复之前它上面的锁都拿不到"},
		Text{"use three or five servers, on machines that do not fail together", "使用三台或五台，放在不会同时出故障的机器上"},
		nil},
	OneAddress: {Warn,
		Text{"the URL names only one of several servers", "URL 里只写了多台服务器中的一台"},
		Text{"if this server fails, the process cannot reach the others", "这台宕机后，进程连不上其余的"},
		Text{"name all servers in the URL, separated by commas", "在 URL 里写上所有服务器，用逗号分隔"},
		nil},
	NoSpace: {Fail,
		Text{"the database is full (alarm NOSPACE)", "数据库已满（NOSPACE 告警）"},
		Text{"the cluster refuses every write that needs space: no lock is granted", "集群拒绝一切需要空间的写入：不再授予锁"},
		Text{"compact and defragment each member, or raise --quota-backend-bytes; then disarm the alarm",
			"对每个成员压缩并整理碎片，或调大 --quota-backend-bytes，然后解除告警"},
		[]string{"etcdctl compact <revision>", "etcdctl defrag --cluster", "etcdctl alarm disarm"}},
	AlmostNoSpace: {Warn,
		Text{"database size: %s of %s", "数据库 %s，上限 %s"},
		Text{"when the database is full, the cluster refuses writes, so no lock is granted", "写满之后集群拒绝写入，不再授予锁"},
		Text{"enable compaction (--auto-compaction-retention), defragment, or raise --quota-backend-bytes",
			"打开自动压缩（--auto-compaction-retention），整理碎片，或调大 --quota-backend-bytes"},
		[]string{"etcdctl endpoint status --cluster -w table", "etcdctl defrag --cluster"}},
	Alarm: {Fail,
		Text{"the server reports: %s", "服务器报告：%s"},
		Text{"the server may refuse calls or lose data", "服务器可能拒绝调用或丢失数据"},
		Text{"look it up in the documentation of the server", "请查阅服务器的文档"},
		[]string{"etcdctl alarm list"}},
	FourLetterWords: {Note,
		Text{"the server does not answer the command %s", "服务器不回答命令 %s"},
		Text{"some checks were skipped; locks do not need it", "有些项目没能检查；锁本身不需要它"},
		Text{"allow it on the server, and restart it", "在服务器上允许它，然后重启"},
		[]string{"4lw.commands.whitelist=srvr,mntr"}},
	OldServer: {Fail,
		Text{"the version is %s; the engine needs %s %v or later", "版本为 %s，引擎需要 %s %v 以上"},
		Text{"calls of the engine may fail", "引擎的调用可能失败"},
		Text{"upgrade the server", "升级服务器"},
		nil},
}

// member examines a server of etcd or ZooKeeper that answers.
func (x *exam) member(n engine.Node) {
	switch {
	case x.product == engine.Etcd && oldEtcd(n.Version):
		x.find(OldServer, n.Addr, n.Version, "etcd", "3.5.14")
		x.findings[len(x.findings)-1].Means = losesLeases
	case x.product == engine.ZooKeeper && before(n.Version, 3, 5):
		x.find(OldServer, n.Addr, n.Version, "ZooKeeper", "3.5")
	}
	for _, alarm := range n.Alarms {
		if strings.Contains(alarm, "NOSPACE") {
			x.find(NoSpace, n.Addr)
		} else {
			x.find(Alarm, n.Addr, alarm)
		}
	}
	// 85 % leaves time to react before grants fail.
	if n.MaxMemory > 0 && n.UsedMemory >= n.MaxMemory/100*85 && len(n.Alarms) == 0 {
		x.find(AlmostNoSpace, n.Addr, Bytes(n.UsedMemory), Bytes(n.MaxMemory))
	}
	for _, word := range n.Denied {
		x.find(FourLetterWords, n.Addr, word)
	}
	x.clock(n)
}

// losesLeases is the consequence of an etcd before 3.5.14.
var losesLeases = Text{
	"calls of the engine may fail, and a slow leader may end a lease that was renewed: its holder loses the lock, and another gets it",
	"引擎的调用可能失败；leader 变慢时，刚续过的租期也可能被它结束，锁从持有者手里丢失，被别人拿走",
}

// oldEtcd reports whether a version is before 3.5.14.
func oldEtcd(version string) bool {
	var patch int
	n, _ := fmt.Sscanf(version, "3.5.%d", &patch)
	return before(version, 3, 5) || n == 1 && patch < 14
}

// ensemble examines whether enough members answer, and whether they are independent. Unlike
// the nodes of a quorum they never grant a lock twice, so weaknesses are warnings.
func (x *exam) ensemble(h engine.Health) {
	n, up, hosts := len(h.Nodes), 0, make(map[string]int)
	for _, node := range h.Nodes {
		if node.Err == nil || alarmed(node) {
			up++
		}
		if host, _, err := net.SplitHostPort(node.Addr); err == nil {
			hosts[host]++
		}
	}
	if n == 1 {
		switch {
		case up == 0: // unreachable says it all
		case h.Topology == engine.Standalone:
			x.find(OneMember, h.Nodes[0].Addr)
		default:
			x.find(OneAddress, h.Nodes[0].Addr)
		}
		return
	}
	for _, host := range sorted(hosts) {
		if hosts[host] > 1 {
			x.findAs(Warn, QuorumHost, "", hosts[host], host)
		}
	}
	if n == 2 {
		x.findAs(Warn, QuorumFew, "", n)
	} else if n%2 == 0 {
		x.find(QuorumEven, "", n, (n-1)/2)
	}
	if need := n/2 + 1; up < need {
		x.find(QuorumAway, "", up, n, need)
	}
}

// alarmed reports whether a member answers, although with an alarm: etcd's probe reports it
// as an error.
func alarmed(n engine.Node) bool {
	return n.Err != nil && strings.Contains(n.Err.Error(), "alarm:")
}

// productOf returns the software of an engine's servers. The default is that of engines
// which do not say.
func productOf(h engine.Health) engine.Product {
	return cmp.Or(h.Product, engine.Redis)
}

// consensus reports whether the servers of an engine elect a leader and agree by majority.
func consensus(p engine.Product) bool {
	return slices.Contains([]engine.Product{engine.Etcd, engine.ZooKeeper}, p)
}
