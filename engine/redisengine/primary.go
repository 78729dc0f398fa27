package redisengine

// errNotPrimary reads like the reply of a replica to a write.
const errNotPrimary = ReplyError("READONLY the server is a replica now; wait for the sentinels to name the new primary")

// CheckPrimary returns an error if the role that a server reports by ROLE is not that
// of a primary. An empty role is accepted: the ACL user may lack the permission for ROLE.
//
// A [Client] behind sentinels calls it before it subscribes. Sentinels close the
// connections of a server that they demote. A client that reconnects before its sentinel
// learns of the failover gets the demoted server again. Without this check it would stay
// subscribed there. If the server is demoted later, the connection is closed.
func CheckPrimary(role string) error {
	if role == "" || role == "master" {
		return nil
	}
	return errNotPrimary
}
