package admin

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/observe/logs"
)

// LogLevels are the lowest levels that this process logs, by component.
type LogLevels struct {
	Default string `json:"default,omitempty" enum:"debug,info,warn,error" doc:"Of lines without a component, such as audit entries."`
	Engine  string `json:"engine,omitempty" enum:"debug,info,warn,error" doc:"Of the requests to the engine's servers."`
	Gateway string `json:"gateway,omitempty" enum:"debug,info,warn,error" doc:"Of the requests through the gateway."`
	Guards  string `json:"guards,omitempty" enum:"debug,info,warn,error" doc:"Of the checks and claims of guards."`
	Locks   string `json:"locks,omitempty" enum:"debug,info,warn,error" doc:"Of the life of locks."`
}

// fields returns the fields by component.
func (l *LogLevels) fields() map[string]*string {
	return map[string]*string{logs.Default: &l.Default, logs.Engine: &l.Engine, logs.Gateway: &l.Gateway, logs.Guards: &l.Guards, logs.Locks: &l.Locks}
}

// logRoutes registers the operations on the levels of the log.
func (s *Server) logRoutes() {
	route(s, "get-log-levels", "GET /log-levels", "Get the levels of the log", "", s.getLogLevels)
	route(s, "set-log-levels", "PUT /log-levels", "Change levels of the log",
		"Components that the request leaves out keep their level. The levels stay until the section log of the configuration file changes, or until a restart.",
		s.setLogLevels)
}

// errNoLevels is the problem of a process whose log has fixed levels.
func errNoLevels() error {
	return problem(NotSupported, "this process has a log with fixed levels: set admin.Options.Levels")
}

// getLogLevels reports the levels in use, which may differ from those in the file.
func (s *Server) getLogLevels(context.Context, *struct{}) (*body[LogLevels], error) {
	if s.o.Levels == nil {
		return nil, errNoLevels()
	}
	var out LogLevels
	for component, level := range s.o.Levels.All() {
		*out.fields()[component] = levelName(level)
	}
	return answer(out), nil
}

// setLogLevels changes the levels that the request names.
func (s *Server) setLogLevels(ctx context.Context, in *struct {
	Body struct {
		ReasonBody
		Levels LogLevels `json:"levels" doc:"At least one."`
	}
}) (*body[LogLevels], error) {
	change := make(map[string]slog.Level)
	var texts []string
	fields := in.Body.Levels.fields()
	for _, component := range slices.Sorted(maps.Keys(fields)) {
		if name := *fields[component]; name != "" {
			var level slog.Level
			if err := level.UnmarshalText([]byte(name)); err != nil {
				return nil, problem(Invalid, "%v", err)
			}
			change[component] = level
			texts = append(texts, component+"="+name)
		}
	}
	if len(change) == 0 {
		return nil, problem(Invalid, "levels is empty: name a component, as in {\"levels\":{\"locks\":\"debug\"}}")
	}
	entry := AuditEntry{Action: "log-levels:" + strings.Join(texts, ","), Reason: in.Body.Reason}
	err := s.act(ctx, &entry, func() error {
		if s.o.Levels == nil {
			return errNoLevels()
		}
		entry.Before = []Before{{State: strings.ToLower(s.o.Levels.String())}}
		for component, level := range change {
			if err := s.o.Levels.Set(component, level); err != nil {
				return problem(Invalid, "%v", err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.getLogLevels(ctx, nil)
}

// levelName returns the name of a level. A program may set levels between those with a
// name; they are rounded down.
func levelName(l slog.Level) string {
	switch {
	case l < slog.LevelInfo:
		return "debug"
	case l < slog.LevelWarn:
		return "info"
	case l < slog.LevelError:
		return "warn"
	}
	return "error"
}
