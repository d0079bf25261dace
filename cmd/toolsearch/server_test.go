package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// fakeServer is the environment variable, or the argument before "=", that turns the test binary into an MCP server. Its value is
// the kind of server.
const fakeServer = "TOOLSEARCH_TEST_SERVER"

// A message is a JSON-RPC message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

// serve runs a server. The kind "good" works, and each other kind is broken in another way.
func serve(kind string, in io.Reader, out io.Writer) {
	lines := bufio.NewScanner(in)
	say := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	switch kind {
	case "deaf": // it does not read
		time.Sleep(time.Hour)
	case "chatty":
		for {
			say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
			time.Sleep(time.Millisecond)
		}
	case "crash":
		fmt.Fprintln(os.Stderr, "no database")
		os.Exit(3)
	case "huge":
		for {
			if _, err := io.WriteString(out, strings.Repeat("x", 1<<20)); err != nil {
				return
			}
		}
	case "garbage":
		for {
			if _, err := io.WriteString(out, strings.Repeat("no message"+strings.Repeat(".", 300)+"\n{]\nnull\n", 1<<12)); err != nil {
				return
			}
		}
	case "asking":
		for i := 0; ; i++ {
			say(`{"jsonrpc":"2.0","id":"q%d","method":"roots/list"}`, i)
			if !lines.Scan() {
				return
			}
		}
	}
	if kind == "unread" { // it asks, and never reads the answers
		lines.Scan()
		say(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}`)
		for i := range 900 {
			say(`{"jsonrpc":"2.0","id":"%d%s","method":"ping"}`, i, strings.Repeat("x", 4<<10))
		}
		time.Sleep(time.Hour)
	}
	pages, answered := 0, false
	var asked []message // tools/list that waits for the answer to the server's ping
	for lines.Scan() {
		var m message
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			continue
		}
		switch m.Method {
		case "initialize":
			if kind == "refuse" {
				say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"wrong\u001b[31m version"}}`, m.ID)
				continue
			}
			say("Listening ...")
			say(`{"level":"info","message":"listening"}`)
			say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":5},`+
				`"serverInfo":{"name":"fake","version":"1.2"},"instructions":"Ask\u001b[31m politely.\r\nserver: kind"}}`, m.ID)
		case "notifications/initialized":
			say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			say(`{"jsonrpc":"2.0","id":"p1","method":"ping"}`)
		case "":
			answered = answered || strings.Contains(lines.Text(), `"id":"p1"`) && strings.Contains(lines.Text(), `"result":{}`)
		case "tools/list":
			asked = append(asked, message{m.ID, lines.Text()})
		}
		if len(asked) > 0 && (answered || kind != "good") {
			pages++
			say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, asked[0].ID, strings.ReplaceAll(page(kind, pages, asked[0].Method), "\n", " "))
			asked = asked[1:]
			if kind == "good" && pages == 2 {
				say("Bye")
			}
		}
	}
	if kind == "stubborn" {
		signal.Ignore(syscall.SIGTERM)
		for {
			time.Sleep(time.Hour)
		}
	}
}

// page returns a server's answer to the nth tools/list.
func page(kind string, n int, request string) string {
	switch kind {
	case "no-list":
		return `{}`
	case "not-a-page":
		return `"tools"`
	case "not-tools":
		return `{"tools":[1,2]}`
	case "same-page":
		return `{"tools":[],"nextCursor":"again"}`
	case "endless":
		return fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, n)
	case "many":
		return fmt.Sprintf(`{"tools":[{}%s],"nextCursor":"%d"}`, strings.Repeat(",{}", 5_000), n)
	case "wrong-values":
		return `{"tools":[{"name":"a","description":5},{"name":"b","inputSchema":{"n":1e999,"$ref":"#"}},{"title":"c"}]}`
	case "nested":
		return `{"tools":[{"name":"a","inputSchema":` + strings.Repeat(`{"items":`, 100) + "1" + strings.Repeat("}", 100) + `}]}`
	case "stubborn":
		return `{"tools":[{"name":"a","description":"b"}]}`
	case "good":
		if n == 1 {
			return `{"tools":[{"name":"first_tool","description":"Does <what> is first","inputSchema":{ "type": "object" }},
				{"name":"second_tool","description":"Does what is second","inputSchema":{"type":"object"}}],"nextCursor":"two"}`
		}
		if strings.Contains(request, `"cursor":"two"`) {
			return `{"tools":[{"name":"third_tool","inputSchema":{"type":"object"}}]}`
		}
	}
	return `{"tools":[]}`
}
