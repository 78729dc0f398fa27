package config

import (
	"log/slog"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// levels are the levels of a log by name. The offsets of package slog, as in INFO+2, are
// not accepted: no line has such a level.
var levels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

// levelField is a field with a level of a log.
func levelField[T any](name, about string, get func(*T) (slog.Level, bool), set func(*T, slog.Level)) field[T] {
	return field[T]{
		name: name, description: about,
		read: func(r *reader, t *T, n *node) {
			s, ok := r.text(n, name, "info")
			if !ok {
				return
			}
			level, ok := levels[s]
			if !ok {
				r.errorf(n.at, BadValue, "write debug, info, warn or error", "%s: %s is not a level", name, quote(s))
				return
			}
			set(t, level)
		},
		print: func(t *T) *node {
			level, ok := get(t)
			if !ok {
				return nil
			}
			return textNode(strings.ToLower(level.String()))
		},
		schema: func() *jsonschema.Schema { return enumSchema("debug", "info", "warn", "error") },
	}
}

// componentField is the level of a component.
func componentField(name, about string) field[Log] {
	return levelField(name, about,
		func(l *Log) (slog.Level, bool) { level, ok := l.Components[name]; return level, ok },
		func(l *Log, level slog.Level) {
			if l.Components == nil {
				l.Components = make(map[string]slog.Level)
			}
			l.Components[name] = level
		})
}

// componentsField has the levels of components. It is not printed if there are none.
var componentsField = field[Log]{
	name: "components", description: "Separate levels for the components locks, guards, engine and gateway.",
	read: func(r *reader, l *Log, n *node) { componentsShape.read(r, l, n) },
	print: func(l *Log) *node {
		if len(l.Components) == 0 {
			return nil
		}
		return componentsShape.print(l)
	},
	schema: func() *jsonschema.Schema { return componentsShape.schemaOf() },
}
