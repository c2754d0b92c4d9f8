package mcp

import (
	"slices"
	"strings"
	"unicode"
)

// What nobody may be asked for in a chat. A postal code is none of it, and neither is the key
// of a project: only the words before "code" and "key" tell.
var (
	// secretParts say it wherever they are in a name, also in one without spaces.
	secretParts = []string{
		"password", "passwd", "passphrase", "passwort", "kennwort", "secret", "token", "credential", "passcode", "passkey", "creditcard", "cardnumber",
	}
	// secretWords say it as words.
	secretWords = []string{"pin", "pins", "cvv", "cvc", "otp", "totp", "ssn", "iban", "pw", "pwd"}
	// beforeBoth are what secret codes and keys are of, and beforeKey what keys alone are of.
	beforeBoth = []string{
		"api", "access", "auth", "authentication", "authorization", "authenticator", "security", "secret", "private", "recovery", "backup", "reset", "login", "signin", "unlock",
		"verification", "confirmation", "validation", "activation", "onetime", "time", "sms", "pin", "mfa", "2fa", "otp", "factor", "door", "gate", "alarm", "lock", "card", "pairing",
	}
	beforeKey = []string{
		"app", "consumer", "client", "service", "server", "storage", "account", "session", "master", "encryption", "decryption", "signing", "ssh", "gpg", "pgp", "license", "deploy", "wallet",
	}
	// bare are words before "code" and "key" that do not say which it is.
	bare = []string{
		"", "a", "an", "the", "your", "my", "this", "that", "its", "our", "enter", "provide", "digit", "digits", "new", "current", "der", "die", "den", "dein", "ihr", "and", "or", "is", "of",
	}
)

// asksSecret reports whether the names and words of what is asked for mean a password, a code or
// a key that is secret.
func asksSecret(texts ...string) bool {
	unknown := false  // a code or a key is named, and not which
	harmless := false // it is one that is none
	for _, text := range texts {
		words := wordsOf(text)
		joined := strings.Join(words, "")
		if slices.ContainsFunc(secretParts, func(p string) bool { return strings.Contains(joined, p) }) {
			return true
		}
		for i, w := range words {
			before := ""
			if i > 0 {
				before = words[i-1]
			}
			which, isKey := strings.CutSuffix(strings.TrimSuffix(w, "s"), "key")
			isCode := false
			if !isKey {
				which, isCode = strings.CutSuffix(strings.TrimSuffix(w, "s"), "code")
			}
			if which == "" {
				which = before
			}
			if which == "in" && i > 1 {
				which = words[i-2] + which // a sign-in code
			}
			switch {
			case slices.Contains(secretWords, w):
				return true
			case !isKey && !isCode:
			case slices.Contains(beforeBoth, which) || isKey && slices.Contains(beforeKey, which):
				return true
			case slices.Contains(bare, which) || isDigits(which):
				unknown = true
			default:
				harmless = true
			}
		}
	}
	return unknown && !harmless
}

func isDigits(w string) bool { return strings.Trim(w, "0123456789") == "" }

// wordsOf are the words of a text or of a name like apiKey, in small letters.
func wordsOf(text string) []string {
	var b strings.Builder
	small := false
	for _, r := range text {
		if small && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		small = unicode.IsLower(r)
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}
