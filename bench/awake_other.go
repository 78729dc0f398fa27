//go:build !linux

package main

import "time"

// A vigil keeps processors awake. It does so on Linux only.
type vigil struct{}

func stayAwake() (*vigil, error) { return nil, nil }

func (v *vigil) cpu() time.Duration { return 0 }
func (v *vigil) end()               {}
