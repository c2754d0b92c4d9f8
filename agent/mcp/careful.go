package mcp

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// errUnread ends a connection, because the library panicked over what a server sent.
var errUnread = errors.New("it sent a message that makes no sense")

// guarded is f, of which a panic is an error: the library reads answers where they are waited
// for, and there is much that it takes for granted.
func guarded(f func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errUnread
		}
	}()
	return f()
}

// careful is between the library and what a server says and asks by itself. The library
// handles that in goroutines of its own, where a panic would end the daemon, some of it with a
// mutex held. So only what is of use here reaches it.
func (l *link) careful(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (result sdk.Result, err error) {
		defer func() {
			if recover() != nil {
				result = nil
				err = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: errUnread.Error()}
			}
		}()
		switch method {
		case "elicitation/create":
			return l.asked(ctx, r)
		case "ping", "roots/list", "sampling/createMessage", "notifications/progress", "notifications/tools/list_changed":
			return next(ctx, method, r)
		case "completion/complete":
			// The library would ask the server the same.
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "not supported: " + method}
		}
		return nil, nil // notes that nobody here waits for
	}
}

// asked puts a question. The library would look at its schema first, and follow one that
// refers to itself until the daemon ends; [formOf] takes what it needs.
func (l *link) asked(ctx context.Context, r sdk.Request) (sdk.Result, error) {
	asked, is := r.(*sdk.ElicitRequest)
	if !is || asked.Params == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "it asked nothing"}
	}
	answer, err := l.elicit(ctx, asked)
	if err != nil {
		return nil, err
	}
	return answer, nil
}
