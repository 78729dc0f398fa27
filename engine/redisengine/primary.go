package redisengine

// errNotPrimary is what a replica answers to a call.
const errNotPrimary = ReplyError("READONLY the server is a replica by now; the sentinels will tell who is not")

// Demoted returns an error if a server that answers ROLE with that word is no primary
// any more. Who may not ask has no word, and finds out later.
//
// A [Client] behind sentinels asks before it listens. Sentinels end the connections of
// a server that they demote, and who comes back before his own sentinel has heard of it
// is sent there again. He would stay, since no library takes a subscriber away from
// a server that is well. If it is demoted after he has asked, he is told as all are.
func CheckPrimary(role string) error {
	if role == "" || role == "master" {
		return nil
	}
	return errNotPrimary
}
