// Mcp gives an agent the tools of several MCP servers, from a file in the form of MCP clients, and
// shows the list of their tools that its model sees (groups.go). No key is needed: the model is a
// script.
//
//	go run . mcp.json
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal(`usage: mcp FILE, with a file such as
	{"mcpServers": {"memory": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]}}}`)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := showFile(ctx, os.Stdout, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}
