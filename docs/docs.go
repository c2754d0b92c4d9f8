// Package docs has what of the documentation the daemon serves. It imports nothing and
// starts no goroutine.
package docs

import _ "embed"

// OpenAPI is the description of the API, a JSON document of OpenAPI 3.1. A test of
// internal/api writes the file.
//
//go:embed openapi.json
var OpenAPI string
