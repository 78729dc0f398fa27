package logs

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
)

// The components.
const (
	Locks   = "locks"   // the life of locks
	Guards  = "guards"  // the checks of guards, those of directives and middleware included
	Engine  = "engine"  // requests to the engine's servers
	Gateway = "gateway" // requests through the gateway

	// Default is the level of all other lines.
	Default = "default"
)

// Components returns the names that have a level, in alphabetical order.
func Components() []string { return []string{Default, Engine, Gateway, Guards, Locks} }

// Levels has, for each component, the lowest level that is written. It is safe for
// concurrent use.
type Levels struct {
	levels map[string]*slog.LevelVar // never changes; the variables do
}

// NewLevels returns Levels in which every component has the level l.
func NewLevels(l slog.Level) *Levels {
	all := &Levels{levels: make(map[string]*slog.LevelVar)}
	for _, c := range Components() {
		all.levels[c] = new(slog.LevelVar)
		all.levels[c].Set(l)
	}
	return all
}

// Set changes the level of a component. Loggers that exist use it from their next line
// on.
func (l *Levels) Set(component string, level slog.Level) error {
	if err := check(component); err != nil {
		return err
	}
	l.levels[component].Set(level)
	return nil
}

// SetAll changes the level of all components to level, except for those in components,
// which get the level given there. If a component is unknown, nothing changes.
func (l *Levels) SetAll(level slog.Level, components map[string]slog.Level) error {
	for c := range components {
		if err := check(c); err != nil {
			return err
		}
	}
	for c, v := range l.levels {
		if own, ok := components[c]; ok {
			v.Set(own)
		} else {
			v.Set(level)
		}
	}
	return nil
}

// All returns the level of each component.
func (l *Levels) All() map[string]slog.Level {
	all := make(map[string]slog.Level)
	for c, v := range l.levels {
		all[c] = v.Level()
	}
	return all
}

// String returns the levels as text, such as "default=INFO engine=WARN …".
func (l *Levels) String() string {
	all := l.All()
	var texts []string
	for _, c := range slices.Sorted(maps.Keys(all)) {
		texts = append(texts, c+"="+all[c].String())
	}
	return strings.Join(texts, " ")
}

// check returns an error if a component is unknown.
func check(component string) error {
	if !slices.Contains(Components(), component) {
		return fmt.Errorf("logs: no component %q: use %s", component, strings.Join(Components(), ", "))
	}
	return nil
}

// known returns a component, or "" if it has no level of its own.
func (l *Levels) known(component string) string {
	if component == Default || l.levels[component] == nil {
		return ""
	}
	return component
}

// of returns the level of a known component.
func (l *Levels) of(component string) *slog.LevelVar {
	return l.levels[cmp.Or(component, Default)]
}
