package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	// between parts the name of a server from that of its tool. No built-in tool has it.
	between = "__"
	maxName = 64
)

// ToolName is the name by which the model knows a tool of a server, unless another tool of
// that server has it already: letters in small, digits, "-" and "_" stay, and every run of
// other characters is one "_". A name that would be empty or longer than 64 ends with "_" and
// 6 digits of a hash.
func ToolName(server, own string) string {
	cut := plainName(own)
	name := server + between + cut
	if strings.Trim(cut, "_-") == "" || len(name) > maxName {
		return withHash(server, own)
	}
	return name
}

// plainName is own without what names may not have.
func plainName(own string) string {
	var b strings.Builder
	gap := false
	for _, r := range own {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		good := r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_'
		if !good {
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte('_')
		}
		gap = false
		b.WriteRune(r)
	}
	return b.String()
}

// withHash is the name of a tool whose plain name cannot be used.
func withHash(server, own string) string {
	sum := sha256.Sum256([]byte(own))
	end := "_" + hex.EncodeToString(sum[:3])
	name := server + between + plainName(own)
	return name[:min(len(name), maxName-len(end))] + end
}
