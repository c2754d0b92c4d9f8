package people

import (
	"strings"

	"dragoman/channels"
)

// Rooms of the page and the terminal belong to one person each. The name says
// to whom: "web:holiday" is the operator's, "web:telegram:42/holiday" is
// telegram:42's. A name that people choose has no "/" (see channels.IsRoom), so
// that nobody can name another person's room.

// Room returns the chat of p's room of that name, the second part of a key.
func Room(p Principal, name string) string {
	if p.IsOperator() {
		return name
	}
	return p.ID + "/" + name
}

// RoomAuthor is the sender's id under which p writes in rooms.
func RoomAuthor(p Principal) string {
	if p.IsOperator() {
		return formerOwner
	}
	return p.ID
}

// roomPerson is whose room a chat is.
func roomPerson(chat string) string {
	i := strings.LastIndexByte(chat, '/')
	if i < 0 {
		return OperatorID
	}
	return chat[:i]
}

// RoomPerson is whose room k is: the ID of a principal.
func RoomPerson(k channels.Key) string { return roomPerson(k.Chat()) }

// RoomName is the name that people see: without the person.
func RoomName(k channels.Key) string {
	return k.Chat()[strings.LastIndexByte(k.Chat(), '/')+1:]
}
