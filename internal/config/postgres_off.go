//go:build nopostgres

package config

// hasPostgres: this program was built without PostgreSQL.
const hasPostgres = false
