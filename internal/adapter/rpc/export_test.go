package rpc

import "github.com/interlock-go/interlock/guard"

// Wire returns the codec of replies.
func Wire(p Protocol) guard.Codec { return wire{p} }

// ParseKey is for tests of the key's syntax.
func ParseKey(value string) (string, error) { return parseKey(value) }
