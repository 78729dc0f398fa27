package i18n

// The texts of engine.
var (
	AboutEngine      = Text{"prepare the server of an engine", "为引擎准备服务器"}
	AboutMigrate     = Text{"create or migrate the schema of a PostgreSQL or MySQL engine", "创建或升级 PostgreSQL 或 MySQL 引擎的 schema"}
	AboutMigrateLong = Text{
		`Migrate creates the tables of an engine on PostgreSQL or MySQL, or migrates those of an
older version; on PostgreSQL in one transaction. Its user needs the permission CREATE on
the database; docs/postgres.md and docs/mysql.md list what the user of the engine needs.
Several processes may migrate at the same time. Other engines need no migration, and are
not contacted.`,
		`migrate 创建 PostgreSQL 或 MySQL 引擎的表，或升级旧版本的；在 PostgreSQL 上用一个事务完成。
执行它的用户需要在该数据库上有 CREATE 权限；引擎自己的用户需要什么见 docs/postgres.md 和 docs/mysql.md。
多个进程可以同时执行。其他引擎不需要，也不会被连接。`,
	}
	MigrateMissing = Text{
		"no engine: name its URL, or set %s, as in: interlock engine migrate postgres://localhost:5432/shop",
		"缺少引擎：请给出地址或设置 %s，例如：interlock engine migrate postgres://localhost:5432/shop",
	}
	MigrateBoth      = Text{"name the URL once: as the argument, or with --engine", "地址只给一次：作为参数，或用 --engine"}
	TheArgument      = Text{"the argument", "参数"}
	MigrateNothing   = Text{"%s needs no migration: nothing to do", "%s 不需要迁移，什么也没做"}
	MigrateUnchanged = Text{"%s: the schema is up to date; nothing was changed", "%s：schema 已是最新，什么也没改"}
	Migrated         = Text{"%s: the schema was created or migrated", "%s：schema 已创建或升级"}
)
