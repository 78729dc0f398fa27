package i18n

// What the commands say that are about a gateway's file.
var (
	AboutConfig     = Text{"write, check and print a gateway's file", "编写、检查和打印网关配置文件"}
	AboutConfigLong = Text{
		`Config is about the file that tells a gateway what to do: interlock.yaml, unless
another one is named; - stands for standard input.`,
		`config 处理网关的配置文件：缺省为 interlock.yaml，也可以指定其他文件；
- 表示标准输入。`,
	}
	AboutConfigInit     = Text{"write a file to begin with", "生成一份起步用的配置文件"}
	AboutConfigInitLong = Text{
		`Init writes a file that guards three routes of a service on this machine, with
remarks on what else there is. It writes over no file, unless --force is given;
- stands for standard output.`,
		`init 生成一份带注释的配置文件，保护本机服务的三个路由。
除非给出 --force，否则不会覆盖已有文件；- 表示标准输出。`,
	}
	AboutConfigValidate     = Text{"tell every mistake in a file", "指出配置文件中的全部错误"}
	AboutConfigValidateLong = Text{
		`Validate reads a file as a gateway does, and tells every mistake at once: where it
is, the line, and what to write instead. It reaches no engine and no service.`,
		`validate 像网关一样读取配置文件，一次列出全部错误：位置、所在行、应当怎么写。
它不会连接引擎或服务。`,
	}
	AboutConfigFmt     = Text{"bring a file into its one form", "把配置文件整理成统一格式"}
	AboutConfigFmtLong = Text{
		`Fmt puts the fields of rules in order and mends indentation and empty lines; remarks
stay where they belong. With --check it only tells whether there is something to do.`,
		`fmt 统一规则字段的顺序、缩进和空行，注释保留在原处。
加上 --check 只检查是否需要整理。`,
	}
	AboutConfigShow     = Text{"print what a file comes to", "打印配置的最终结果"}
	AboutConfigShowLong = Text{
		`Show prints what a gateway would do: presets and defaults are written out, and
secrets are not. With --origin it says of each value where it is from.`,
		`show 打印网关最终采用的配置：展开预设和缺省值，隐藏密钥。
加上 --origin 会注明每个值的来源。`,
	}
	AboutConfigSchema = Text{"print the JSON Schema of the file, for editors", "打印配置文件的 JSON Schema，供编辑器使用"}

	FlagConfigForce = Text{"write over a file that is there", "覆盖已有文件"}
	FlagCheck       = Text{"write nothing, and exit with 1 if there is something to do", "不写文件；需要整理时退出码为 1"}
	FlagOrigin      = Text{"say where each value is from: default, file or a preset", "注明每个值的来源：default、file 或预设"}

	ConfigGood     = Text{"%s: no mistakes, rules: %d", "%s：没有错误，规则 %d 条"}
	ConfigWrong    = Text{"%s: mistakes: %d", "%s：错误 %d 处"}
	ConfigMade     = Text{"%s is written; check it with: interlock config validate", "已写入 %s；可用 interlock config validate 检查"}
	ConfigThere    = Text{"%s is there already", "%s 已经存在"}
	ConfigForce    = Text{"write over it with --force, or name another file", "可用 --force 覆盖，或指定其他文件"}
	ConfigLacking  = Text{"there is no file %s", "找不到文件 %s"}
	ConfigInitHint = Text{"make one with: interlock config init", "可用 interlock config init 生成"}
	ConfigUntidy   = Text{"%s is not in its one form", "%s 的格式不统一"}
	ConfigFmtHint  = Text{"mend it with: interlock config fmt", "可用 interlock config fmt 整理"}
)
