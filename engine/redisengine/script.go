package redisengine

import (
	"crypto/sha1" // Redis identifies scripts by it
	"embed"
	"encoding/hex"
	"strings"
)

// A Script is a Lua program that the engine runs on the server. The files in lua/
// say what each script does.
type Script struct {
	Name string // of the file, without .lua
	Text string
	SHA  string // identifies the script on the server
}

//go:embed lua/*.lua
var files embed.FS

// Locks of one kind have their scripts in kinds. Batches of exclusive and fair
// locks have these.
var (
	acquireManyScript = script("acquire_many")
	releaseManyScript = script("release_many")
)

// Scripts of records. Concurrent claims and settlements share a call, so claim and
// settle take many.
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
	renewScript        = script("renew")
	countDownScript    = script("count_down")
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

// script returns the script of that name, preceded by the files that it shares with
// other scripts.
func script(name string, shared ...string) *Script {
	var text strings.Builder
	for _, part := range append(shared, name) {
		file, err := files.ReadFile("lua/" + part + ".lua")
		if err != nil {
			panic(err) // the file was not embedded
		}
		text.Write(file)
	}
	sum := sha1.Sum([]byte(text.String()))
	return &Script{Name: name, Text: text.String(), SHA: hex.EncodeToString(sum[:])}
}
