package redisengine

import (
	"crypto/sha1" // it is how Redis names scripts
	_ "embed"
	"encoding/hex"
)

// A Script is a Lua program that the engine runs on the server. Each is a file
// in lua/, which tells what it does.
type Script struct {
	Name string // the file's, without .lua
	Text string
	SHA  string // by which the server knows it
}

var (
	//go:embed lua/acquire.lua
	acquireText string
	//go:embed lua/acquire_many.lua
	acquireManyText string
	//go:embed lua/renew.lua
	renewText string
	//go:embed lua/release.lua
	releaseText string
	//go:embed lua/release_many.lua
	releaseManyText string
	//go:embed lua/abandon.lua
	abandonText string
)

var (
	acquireScript     = script("acquire", acquireText)
	acquireManyScript = script("acquire_many", acquireManyText)
	renewScript       = script("renew", renewText)
	releaseScript     = script("release", releaseText)
	releaseManyScript = script("release_many", releaseManyText)
	abandonScript     = script("abandon", abandonText)
)

func script(name, text string) *Script {
	sum := sha1.Sum([]byte(text))
	return &Script{Name: name, Text: text, SHA: hex.EncodeToString(sum[:])}
}
