package secretword_test

import (
	"testing"

	"dragoman/internal/secretword"
)

// What counts as the name of a secret, in a name (of an option, a variable, a parameter) and in
// a question to a person. The two differ where a key or a word is mostly harmless.
func TestWhatCounts(t *testing.T) {
	const (
		no      = "no"
		inNames = "in names"
		always  = "always"
	)
	for _, test := range []struct {
		counts string
		texts  []string
	}{
		{always, []string{
			"password", "PASSWORD", "Passwort", "db_password", "pass word", "client_secret", "token", "authToken", "GITHUB_TOKEN", "max-tokens", "credentials", "passcode", "dbpwd", "card number",
			"PIN", "pin", "cvv", "otp", "iban", "pw", "jwt", "DSN", "api key", "apiKey", "APIKey", "API_KEY", "apikey", "X-Api-Keys", "access code", "accessCode", "one-time code", "onetimecode", "security code",
			"sign-in code", "2FA code", "ssh key", "private-key", "verification_code", "PIN code", "key", "keys", "code", "Your key", "6-digit code", "encryption_key", "auth-key",
		}},
		{inNames, []string{"auth", "Authorization", "oauth", "bearer", "pass", "pat", "sid", "sig", "signature", "X-Hub-Signature-256", "cookie", "Set-Cookie", "project key", "projectKey", "issue key", "sort-key", "public_key"}},
		{no, []string{
			"", "-", "postal code", "postalCode", "zip_code", "zipcode", "postcode", "country code", "country_codes", "currency-code", "discount code", "status code", "pinned", "pinnedItems", "shipping",
			"keyboard", "keyword", "monkey", "encoding", "tokenizer", "passenger", "compass", "signal", "author", "port", "url", "名前",
		}},
	} {
		for _, text := range test.texts {
			if got := secretword.Names(text); got != (test.counts != no) {
				t.Errorf("as a name, %q counts: %t, want %s", text, got, test.counts)
			}
			if got := secretword.Asks(text); got != (test.counts == always) {
				t.Errorf("in a question, %q counts: %t, want %s", text, got, test.counts)
			}
		}
	}
	for _, place := range []string{"token-file", "key_path", "KEY_ENV", "secret-name", "passwordDir"} {
		if secretword.Names(place) {
			t.Errorf("%q counts, and says where the secret is", place)
		}
	}
	if !secretword.Asks("Give me your password, and not its file") {
		t.Error("a sentence does not say where the secret is")
	}
	if secretword.Asks("key", "Project key") || !secretword.Asks("code", "Enter the code that we have sent to you.") {
		t.Error("a question does not count as a whole")
	}
}

// No text is too odd, and a name counts whenever a question with it does, or says where it is.
func FuzzNames(f *testing.F) {
	for _, text := range []string{"apiKey", "sign-in code", "token_file", "ǅkey", "\xff key", "in code"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if secretword.Asks(text) && !secretword.Names(text) && !secretword.Names(text+" x") {
			t.Errorf("%q is not asked for, and not hidden", text)
		}
	})
}
