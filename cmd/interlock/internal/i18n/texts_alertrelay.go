package i18n

// The texts of alert-relay.
var (
	AboutAlertRelay     = Text{"send alerts of Alertmanager to a DingTalk robot", "把 Alertmanager 的告警发到钉钉机器人"}
	AboutAlertRelayLong = Text{
		"Alert-relay receives the webhook of Alertmanager at /dingtalk, and posts a signed\n" +
			"message to a DingTalk robot. It reads the robot's webhook and secret from\n" +
			"INTERLOCK_DINGTALK_WEBHOOK and INTERLOCK_DINGTALK_SECRET, or from files. A robot\n" +
			"without a signature needs no secret.\n\n" +
			"At most 20 messages a minute are sent; notifications in excess are merged. If\n" +
			"DingTalk does not accept a message, Alertmanager sends it again. Messages are in\n" +
			"Chinese, unless --lang en is given. GET /healthz answers while the relay runs.",
		"在 /dingtalk 接收 Alertmanager 的 webhook，签名后发给钉钉机器人。\n" +
			"机器人的地址和密钥取自环境变量 INTERLOCK_DINGTALK_WEBHOOK 和\n" +
			"INTERLOCK_DINGTALK_SECRET，或取自文件。机器人不要求加签时可以没有密钥。\n\n" +
			"每分钟最多发 20 条消息，超出的合并成一条。钉钉没有接收时，由 Alertmanager 重发。\n" +
			"消息默认是中文，--lang en 改为英文。运行期间 GET /healthz 有应答。",
	}
	FlagRelayListen = Text{"address to listen on", "监听地址"}
	FlagWebhookFile = Text{"file with the robot's webhook, instead of INTERLOCK_DINGTALK_WEBHOOK", "存放机器人地址的文件，代替 INTERLOCK_DINGTALK_WEBHOOK"}
	FlagSecretFile  = Text{"file with the robot's secret, instead of INTERLOCK_DINGTALK_SECRET", "存放机器人密钥的文件，代替 INTERLOCK_DINGTALK_SECRET"}

	NoWebhook     = Text{"the webhook of the robot is missing", "没有给出机器人的地址"}
	NoWebhookHint = Text{"set INTERLOCK_DINGTALK_WEBHOOK, or use --webhook-file", "请设置 INTERLOCK_DINGTALK_WEBHOOK，或使用 --webhook-file"}
	RelayPortHint = Text{"stop the process that uses it, or choose another address with --listen", "停掉占用者，或用 --listen 换一个地址"}
	BadWebhook    = Text{"the webhook from %s is not an http:// or https:// URL", "%s 里的机器人地址不是 http:// 或 https:// 开头的地址"}

	RelayTitle    = Text{"Interlock: %d firing, %d resolved", "Interlock 告警：%d 条触发，%d 条恢复"}
	RelayFiring   = Text{"firing", "触发"}
	RelayResolved = Text{"resolved", "恢复"}
	RelaySince    = Text{"since", "开始时间"}
	RelayRunbook  = Text{"runbook", "处理手册"}
	RelayMore     = Text{"and %d more alerts", "另有 %d 条告警"}
)
