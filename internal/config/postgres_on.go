//go:build !nopostgres

package config

// hasPostgres: this program can keep its store in PostgreSQL.
const hasPostgres = true
