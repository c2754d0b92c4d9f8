package wire

import "strings"

// scrub makes a server's words fit to be shown: one short line without any
// piece of a secret. A server may repeat only part of the key, so every piece
// of 8 bytes or more is replaced.
func scrub(s string, secrets []string) string {
	const most, piece = 300, 8
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s[:min(len(s), 4096)], "")), " ")
	// Servers that validate requests with pydantic repeat the refused message, and
	// people's words do not belong in errors.
	for _, echo := range []string{"'input':", `"input":`, "input_value="} {
		if i := strings.Index(s, echo); i > 0 {
			s = s[:i] + "…"
		}
	}
	for _, secret := range secrets {
		if secret == "" {
			continue
		}
		s = strings.ReplaceAll(s, secret, "[key]")
		s = replacePieces(s, secret, piece, "[key]")
	}
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// replacePieces replaces every run of at least piece bytes that s shares with
// secret.
func replacePieces(s, secret string, piece int, by string) string {
	if len(secret) < piece {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		n := 0
		for i+max(n+1, piece) <= len(s) && strings.Contains(secret, s[i:i+max(n+1, piece)]) {
			n = max(n+1, piece)
		}
		if n == 0 {
			b.WriteByte(s[i])
			i++
			continue
		}
		b.WriteString(by)
		i += n
	}
	return b.String()
}
