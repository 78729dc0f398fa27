package standby

import "fmt"

// A Side names the engine that grants the locks.
type Side uint8

// The sides.
const (
	Primary Side = iota + 1
	Standby
	Local // every process has its own locks
)

var sides = map[Side]string{Primary: "primary", Standby: "standby", Local: "local"}

// String returns the name of the side.
func (s Side) String() string {
	if name, ok := sides[s]; ok {
		return name
	}
	return fmt.Sprintf("side %d", uint8(s))
}

// ParseSide returns the side with a name.
func ParseSide(text string) (Side, error) {
	for s, name := range sides {
		if name == text {
			return s, nil
		}
	}
	return 0, fmt.Errorf("standby: unknown side %q: use primary, standby or local", text)
}

// MarshalText implements [encoding.TextMarshaler].
func (s Side) MarshalText() ([]byte, error) {
	if _, ok := sides[s]; !ok {
		return nil, fmt.Errorf("standby: unknown %v", s)
	}
	return []byte(s.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Side) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSide(string(text))
	return err
}
