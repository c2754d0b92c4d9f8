// Package secretword says which names are those of secrets: of an option, a variable or a
// parameter, so that its value is hidden, and of what a server of tools asks a person for, so
// that nobody is asked for a password.
//
// The promise: there is one list of words, and each text is read in one way. The two judge
// differently. To hide too much costs nothing, so in a name whatever may be a secret counts.
// Who refuses to ask for a postal code makes a server useless, so in a question a key or a code
// counts only if its owner keeps secrets, or if nothing says whose it is.
//
// The package keeps nothing, so several goroutines may call its functions.
package secretword

import (
	"slices"
	"strings"
	"unicode"
)

var (
	// parts say it wherever they are in a name, also in one without spaces.
	parts = []string{
		"password", "passwd", "passphrase", "passwort", "kennwort", "secret", "token", "credential", "passcode", "passkey", "creditcard", "cardnumber", "pwd",
	}
	// words say it as words.
	words = []string{"pin", "pins", "cvv", "cvc", "otp", "totp", "ssn", "iban", "pw", "jwt", "dsn"}
	// shorts say it in a name. In a sentence they mostly mean something else.
	shorts = []string{"auth", "oauth", "authorization", "authorisation", "bearer", "pass", "pat", "sid", "sig", "signature", "signatures", "cookie", "cookies"}
	// owners are what secret codes and keys are of, and keyOwners what secret keys alone are of.
	owners = []string{
		"api", "access", "auth", "authentication", "authorization", "authenticator", "security", "secret", "private", "recovery", "backup", "reset", "login", "signin", "unlock",
		"verification", "confirmation", "validation", "activation", "onetime", "time", "sms", "pin", "mfa", "2fa", "otp", "factor", "door", "gate", "alarm", "lock", "card", "pairing",
	}
	keyOwners = []string{
		"app", "consumer", "client", "service", "server", "storage", "account", "session", "master", "encryption", "decryption", "signing", "ssh", "gpg", "pgp", "license", "deploy", "wallet",
	}
	// nobodies are words before "code" and "key" that do not say whose it is.
	nobodies = []string{
		"", "a", "an", "the", "your", "my", "this", "that", "its", "our", "enter", "provide", "digit", "digits", "new", "current", "der", "die", "den", "dein", "ihr", "and", "or", "is", "of",
	}
	// places are last words of a name that says where a secret is.
	places = []string{"file", "path", "dir", "folder", "env", "var", "name"}
)

// Names reports whether the value of an option, a variable or a parameter with that name may be
// a secret.
func Names(name string) bool {
	all := wordsOf(name)
	if len(all) == 0 || slices.Contains(places, all[len(all)-1]) {
		return false
	}
	r := read(all)
	return r.secret || r.short || r.unowned
}

// Asks reports whether a question with these names and sentences asks for a secret.
func Asks(texts ...string) bool {
	unowned := false
	owned := false
	for _, text := range texts {
		r := read(wordsOf(text))
		if r.secret {
			return true
		}
		unowned = unowned || r.unowned
		owned = owned || r.owned
	}
	return unowned && !owned
}

// reading is what words say.
type reading struct {
	secret  bool // it is one
	short   bool // in a name it is one
	unowned bool // a code or a key, and nothing says whose
	owned   bool // one of something that keeps no secrets
}

func read(all []string) (r reading) {
	joined := strings.ReplaceAll(strings.Join(all, ""), "tokeniz", "")
	r.secret = slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(joined, p) })
	for i, w := range all {
		r.secret = r.secret || slices.Contains(words, w)
		r.short = r.short || slices.Contains(shorts, w)
		owner, isKey, found := ownerOf(all, i)
		switch {
		case !found:
		case slices.Contains(owners, owner) || isKey && slices.Contains(keyOwners, owner):
			r.secret = true
		case slices.Contains(nobodies, owner) || strings.Trim(owner, "0123456789") == "":
			r.unowned = true
		default:
			r.owned = true
			r.short = r.short || w == "key" || w == "keys" // not a monkey
		}
	}
	return r
}

// ownerOf returns the word before "code" or "key" in the word at i, or before that word; not
// found if it is another one.
func ownerOf(all []string, i int) (owner string, isKey, found bool) {
	w := strings.TrimSuffix(all[i], "s")
	owner, isKey = strings.CutSuffix(w, "key")
	found = isKey
	if !isKey {
		owner, found = strings.CutSuffix(w, "code")
	}
	if owner == "" && i > 0 {
		owner = all[i-1]
		if owner == "in" && i > 1 {
			owner = all[i-2] + owner // a sign-in code
		}
	}
	return owner, isKey, found
}

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
