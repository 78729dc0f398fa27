package redisengine

import (
	"crypto/sha1" // it is how Redis names scripts
	"embed"
	"encoding/hex"
	"strings"
)

// A Script is a Lua program that the engine runs on the server. Each is a file
// in lua/, which tells what it does.
type Script struct {
	Name string // the file's, without .lua
	Text string
	SHA  string // by which the server knows it
}

//go:embed lua/*.lua
var files embed.FS

// Exclusive locks, which have scripts of their own: those must be fast.
var (
	acquireScript     = script("acquire")
	acquireManyScript = script("acquire_many")
	releaseScript     = script("release")
	releaseManyScript = script("release_many")
	abandonScript     = script("abandon")
)

// Fair locks that nobody waits for share trips, too.
var (
	acquireFairManyScript = script("acquire_fair_many")
	releaseFairManyScript = script("release_fair_many")
)

// Work that happens once. Claims and settlements made at once share a trip, so
// these take many.
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
	replicasScript     = script("replicas")
	infoScript         = script("info")
)

// script returns the script of that name, behind what it shares with others.
func script(name string, shared ...string) *Script {
	var text strings.Builder
	for _, part := range append(shared, name) {
		file, err := files.ReadFile("lua/" + part + ".lua")
		if err != nil {
			panic(err) // it is not in the program
		}
		text.Write(file)
	}
	sum := sha1.Sum([]byte(text.String()))
	return &Script{Name: name, Text: text.String(), SHA: hex.EncodeToString(sum[:])}
}
