package redisengine

import (
	"crypto/sha1" // Redis identifies a script by its SHA-1
	"embed"
	"encoding/hex"
	"strings"
)

// A Script is a Lua program that the engine runs on the server. The files in lua/
// say what each script does.
type Script struct {
	Name string // the name of the file, without .lua
	Text string
	SHA  string // identifies the script on the server
}

//go:embed lua/*.lua
var files embed.FS

// Scripts for batches of exclusive and fair locks. The scripts for a single lock are in
// kinds.
var (
	acquireManyScript = script("acquire_many")
	releaseManyScript = script("release_many")
)

// Scripts for records. claim.lua and settle.lua take a batch, because concurrent calls
// are merged.
var (
	claimScript       = script("claim", "record", "record_reply")
	settleScript      = script("settle", "record")
	disclaimScript    = script("disclaim", "record")
	renewClaimsScript = script("renew_claims", "record")
	lookupScript      = script("lookup", "record", "record_reply")
	eraseScript       = script("erase", "record", "record_reply")
	listRecordsScript = script("list_records", "record", "record_reply")
)

var (
	abandonedScript    = script("abandoned")
	renewScript        = script("renew")
	countDownScript    = script("count_down")
	takeScript         = script("take", "clock")
	returnUnitScript   = script("return_unit", "clock")
	inspectScript      = script("inspect", "clock", "queue", "lock_format", "readwrite", "inspect_common")
	forceReleaseScript = script("force_release", "clock", "queue", "lock_format", "readwrite", "inspect_common")
	listScript         = script("list", "lock_format")
	publishScript      = script("publish")
	registerScript     = script("register")
	membersScript      = script("members")
	readNoteScript     = script("read_note")
	writeNoteScript    = script("write_note")
	raiseFenceScript   = script("raise_fence")
	incarnationScript  = script("incarnation")
	probeScript        = script("probe")
	replicasScript     = script("replicas")
	infoScript         = script("info")
)

// script returns the script in the file of that name. The shared files precede it.
func script(name string, shared ...string) *Script {
	var text strings.Builder
	for _, part := range append(shared, name) {
		file, err := files.ReadFile("lua/" + part + ".lua")
		if err != nil {
			panic(err) // the file was not embedded
		}
		text.Write(file)
	}
	// EVALSHA identifies scripts by SHA-1. It protects nothing here.
	sum := sha1.Sum([]byte(text.String()))
	return &Script{Name: name, Text: text.String(), SHA: hex.EncodeToString(sum[:])}
}
