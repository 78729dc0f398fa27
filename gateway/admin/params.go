package admin

import (
	"encoding/base64"
	"reflect"
)

var problemType = reflect.TypeFor[Problem]()

// A Keyed request is about one lock.
type KeyPath struct {
	Key      string `path:"key" doc:"The lock's key, percent-encoded." example:"order:42"`
	Encoding string `query:"encoding" enum:"percent,base64url" default:"percent" doc:"How the key in the path is encoded."`
}

// key returns which one.
func (k *KeyPath) key() (string, error) { return decoded(k.Key, k.Encoding) }

// An Identified request is about one record.
type IDPath struct {
	ID       string `path:"id" doc:"The record's id, as lists tell it, percent-encoded." example:"order:9f86d081…"`
	Encoding string `query:"encoding" enum:"percent,base64url" default:"percent" doc:"How the id in the path is encoded."`
}

// id returns which one.
func (i *IDPath) id() (string, error) { return decoded(i.ID, i.Encoding) }

func decoded(text, encoding string) (string, error) {
	if encoding != "base64url" {
		return text, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return "", problem(KeyInvalid, "it is not base64url without padding: %v", err)
	}
	return string(raw), nil
}

// A Reasoned request changes something, and says why.
type ReasonBody struct {
	Reason string `json:"reason" minLength:"1" maxLength:"500" doc:"Why. It is written down in the audit trail." example:"the host is gone"`
}
