package wire

import "strings"

// scrub makes a server's words fit to be shown: one line, not long, and with
// no piece of a secret in it. A server may cut the key it repeats, so that
// every piece of 8 bytes or more is replaced, not just the whole.
func scrub(s string, secrets []string) string {
	const most, piece = 300, 8
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s[:min(len(s), 4096)], "")), " ")
	// Servers that check requests with pydantic repeat the message that they
	// refuse, and what people wrote does not belong into errors.
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
		s = cutPieces(s, secret, piece, "[key]")
	}
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// cutPieces replaces every run of at least piece bytes that s shares with
// secret.
func cutPieces(s, secret string, piece int, by string) string {
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
