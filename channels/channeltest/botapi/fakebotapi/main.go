// Command fakebotapi serves the test Bot API as a process of its own, for
// benchmarks, crash campaigns and trying Dragoman by hand without a phone.
//
// It prints its address, reads lines "CHAT TEXT" from standard input and says
// them as the person whose private chat that is, and prints what the bot
// answers. The routes under /control/ do the same for programs.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"dragoman/channels/channeltest/botapi"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to serve on")
	token := flag.String("token", "1000:TEST-TOKEN", "the bot's token")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *listen, *token); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, listen, token string) error {
	s, err := botapi.Start(listen, botapi.Options{Token: token, Control: true})
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Println("api_url:", s.URL())
	fmt.Println("token:", token)

	var chats sync.Map // id of every chat that was spoken in, on standard input
	// The reader stays in its read when the program ends; there is no way to
	// take it out, and the process goes with it.
	go func() {
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			id, text, _ := strings.Cut(in.Text(), " ")
			n, err := strconv.ParseInt(id, 10, 64)
			if err != nil || n <= 0 || text == "" {
				fmt.Println("write a chat's number and a text, like: 7 hello")
				continue
			}
			p := botapi.Person(n, "Person"+id)
			chats.Store(n, true)
			s.Private(p).Say(p, text)
		}
	}()

	shown := map[int64]int{}
	print := func() bool {
		chats.Range(func(id, _ any) bool {
			n := id.(int64)
			texts := s.FromBot(n)
			for _, text := range texts[min(shown[n], len(texts)):] {
				fmt.Printf("%d < %s\n", n, text)
			}
			shown[n] = len(texts)
			return true
		})
		return false
	}
	_ = s.Until(ctx, print) // ends only with ctx
	return nil
}
