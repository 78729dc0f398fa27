package i18n

// The texts of config.
var (
	AboutConfig     = Text{"write, validate and print a gateway's file", "编写、检查和打印网关配置文件"}
	AboutConfigLong = Text{
		`Config works on the configuration file of a gateway. Default: interlock.yaml; - is
standard input.`,
		`config 处理网关的配置文件：缺省为 interlock.yaml，也可以指定其他文件；
- 表示标准输入。`,
	}
	AboutConfigInit     = Text{"write a starter file", "生成一份起步用的配置文件"}
	AboutConfigInitLong = Text{
		`Init writes a commented file that guards three routes of a service on this machine.
It overwrites a file only with --force; - is standard output.`,
		`init 生成一份带注释的配置文件，保护本机服务的三个路由。
除非给出 --force，否则不会覆盖已有文件；- 表示标准输出。`,
	}
	AboutConfigValidate     = Text{"list every mistake in a file", "指出配置文件中的全部错误"}
	AboutConfigValidateLong = Text{
		`Validate reads a file as a gateway does, and lists every mistake: its position, the
line, and what to write instead. It does not connect to an engine or a service.`,
		`validate 像网关一样读取配置文件，一次列出全部错误：位置、所在行、应当怎么写。
它不会连接引擎或服务。`,
	}
	AboutConfigFmt     = Text{"format a file", "把配置文件整理成统一格式"}
	AboutConfigFmtLong = Text{
		`Fmt orders the fields of rules and corrects indentation and empty lines. Comments stay
in place. With --check it only reports whether the file needs formatting.`,
		`fmt 统一规则字段的顺序、缩进和空行，注释保留在原处。
加上 --check 只检查是否需要整理。`,
	}
	AboutConfigShow     = Text{"print the effective configuration", "打印配置的最终结果"}
	AboutConfigShowLong = Text{
		`Show prints the effective configuration, with presets and defaults expanded and
secrets hidden. With --origin it adds the origin of each value.`,
		`show 打印网关最终采用的配置：展开预设和缺省值，隐藏密钥。
加上 --origin 会注明每个值的来源。`,
	}
	AboutConfigSchema = Text{"print the JSON Schema of the file, for editors", "打印配置文件的 JSON Schema，供编辑器使用"}

	FlagConfigForce = Text{"overwrite an existing file", "覆盖已有文件"}
	FlagCheck       = Text{"write nothing; exit with 1 if the file needs formatting", "不写文件；需要整理时退出码为 1"}
	FlagOrigin      = Text{"show the origin of each value: default, file or a preset", "注明每个值的来源：default、file 或预设"}

	ConfigValid        = Text{"%s: no mistakes, rules: %d", "%s：没有错误，规则 %d 条"}
	ConfigInvalid      = Text{"%s: mistakes: %d", "%s：错误 %d 处"}
	ConfigWritten      = Text{"wrote %s; check it with: interlock config validate", "已写入 %s；可用 interlock config validate 检查"}
	ConfigExists       = Text{"%s already exists", "%s 已经存在"}
	ConfigForce        = Text{"overwrite it with --force, or name another file", "可用 --force 覆盖，或指定其他文件"}
	ConfigMissing      = Text{"%s does not exist", "找不到文件 %s"}
	ConfigInitHint     = Text{"create one with: interlock config init", "可用 interlock config init 生成"}
	ConfigNotFormatted = Text{"%s is not formatted", "%s 的格式不统一"}
	ConfigFmtHint      = Text{"format it with: interlock config fmt", "可用 interlock config fmt 整理"}
)
