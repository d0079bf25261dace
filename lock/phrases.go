package lock

import (
	"regexp"
	"slices"
	"strings"
)

// The phrases of Instructions. They are matched against folded text: lower case, one blank between
// words. They all speak about the model, its user, its other tools or its other instructions,
// which the description of a tool has no reason to do. A description that says when a tool is
// useful ("use this to list files") or what must come first for the tool itself ("call login
// before") does not match.
//
// They come from published attacks on the descriptions of MCP servers. Phrases that warned of harmless
// tools in the catalogs that docs/security.md lists were narrowed or dropped.

// A phraseGroup is tried only on texts that have one of the words in needs, which spares most texts
// the patterns.
type phraseGroup struct {
	needs    []string
	patterns []*regexp.Regexp
}

// phraseIn returns the first phrase of a folded text, or "".
func phraseIn(folded string) string {
	for _, g := range phrases {
		if !slices.ContainsFunc(g.needs, func(word string) bool { return strings.Contains(folded, word) }) {
			continue
		}
		for _, p := range g.patterns {
			if phrase := p.FindString(folded); phrase != "" {
				return phrase
			}
		}
	}
	return ""
}

var phrases = []phraseGroup{
	{ // Other instructions.
		needs: strings.Fields("ignore disregard forget override bypass prompt instructions:"),
		patterns: compilePhrases(`
(?:ignore|disregard|forget|override|bypass) (?:any |all |the |of |your |my |these |those |other )*(?:previous|prior
	|earlier|above|preceding|existing|former|system|developer) (?:instruction|prompt|rule|message|guideline|direction
	|polic|constraint|tool)
(?:ignore|disregard|forget|override|bypass) (?:any |all |of )*(?:your|the user's|the developer's) (?:instruction
	|prompt|rule|guideline|safety|polic)
(?:your|the) system prompt
(?:new|updated|real|actual) instructions?:
`),
	},
	{ // The order of tools.
		needs: strings.Fields("always must should need have has first before"),
		patterns: compilePhrases(`
(?:always|must|should|needs? to|ha(?:s|ve) to) (?:(?:always|first|only|be|you) )*(?:use|call|invoke|run|choose
	|select|prefer|pick|execute)[a-z]* (?:only )?this (?:tool|function|one|action|server)
(?:always|must|should) (?:(?:always|be) )*(?:used|called|invoked|run|chosen|selected|preferred|picked|executed)
	 (?:first|before (?:any|every|all|each|using|calling|other)|for (?:any|every|all) (?:quer|request|question|task))
(?:use|call|invoke|run|execute) this (?:tool |function )?(?:first|before (?:any|every|all|each|using any
	|calling any|you (?:answer|respond|reply|do anything)))
before (?:using|calling|invoking|running|executing) (?:any|every|all|another|other|each) (?:of the )?(?:other )?
	(?:tool|function|action|server)
(?:must|always|should) (?:be )?call(?:ed)? (?:at the (?:start|beginning) of|on|in|with) (?:any|every|each|all)
	 (?:conversation|message|turn|request|prompt|session|chat)
`),
	},
	{ // Other tools.
		needs: strings.Fields("tool function server action search"),
		patterns: compilePhrases(`
(?:do not|don't|never|must not|should not|avoid|stop) (?:(?:use|using|call|calling|invoke|invoking|run|running
	|choose|try|trust) )(?:any |all |the )*(?:other|another|different|alternative) (?:tool|function|server|search|action)
(?:instead of|rather than|over|in place of|replaces?|supersedes?) (?:using |calling )?(?:any|all|every)
	(?: of the)?(?: other)? (?:tool|function|server)
(?:instead of|rather than|in preference to|prefer(?:red)? (?:this )?(?:tool )?over|takes? (?:precedence
	|priority) over) (?:using |calling )?(?:any |all |every |the )*other (?:tool|function|server|similar)
(?:the other|other|all other) (?:tools?|functions?|servers?) (?:are|is|have been|has been) (?:now )?(?:deprecated
	|broken|unsafe|insecure|unreliable|disabled|outdated|inferior|unavailable|malicious)
no other (?:tool|function|server) (?:is|should|must|can|may|will)
`),
	},
	{ // Praise.
		needs: strings.Fields(`best only most prefer recommend better accurate reliable effective safer faster superior trusted
			endorsed verified approved certified`),
		patterns: compilePhrases(`
(?:this is |is |as )(?:by far )?the (?:best|only correct|most reliable|most trusted|most accurate|official and only
	|preferred|recommended) (?:tool|function|server|choice|option) (?:to use |available|in |among|for (?:any|all|every))
(?:better|more accurate|more reliable|more effective|safer|faster|superior) (?:than|to) (?:any|all|every|the)
	(?: of the)?(?: other)? (?:tools?|functions?|servers?)\b
(?:trusted|endorsed|recommended|verified|approved|certified) by (?:openai|anthropic|google|microsoft|the user
	|your developer|the system|the assistant)
`),
	},
	{ // Acting behind the user's back.
		needs: strings.Fields("user"),
		patterns: compilePhrases(`
(?:do not|don't|never|without) (?:ever )?(?:tell|telling|inform|informing|mention|mentioning|reveal|revealing
	|notify|notifying|show|showing|disclose|disclosing|ask|asking|alert|alerting)
	(?: (?:this|it|that|anything|about this))?(?: to)? (?:the |your )?user\b
(?:hide|conceal|keep) (?:this|it|these)(?: [a-z]+){0,3} (?:from|secret from) (?:the |your )?user
(?:without|no need for) (?:the )?(?:user'?s?|user) (?:knowledge|consent|permission|confirmation|approval)
`),
	},
	{ // Data that is not the tool's.
		needs: strings.Fields(`conversation chat context history dialog ~/ .ssh id_rsa .env passwd .aws mcp.json prompt
			instructions thought messages`),
		patterns: compilePhrases(`
(?:pass|send|include|provide|put|give|forward|attach|append|copy|share|submit) (?:[a-z]+ ){0,3}(?:entire|whole|full
	|complete|all of the) (?:conversation|chat|context|message history|dialog)
(?:read|open|cat|include|send|pass|access|load)[a-z]* (?:[a-z]+ ){0,6}(?:~/\.[a-z]|\.ssh/|id_rsa|\.env\b
	|/etc/passwd|\.aws/|mcp\.json)
(?:pass|send|include|provide|put|give|forward|attach) (?:[a-z]+ ){0,4}(?:your|the) (?:system prompt|instructions
	|chain of thought|previous messages)
`),
	},
	{ // The markup of a conversation.
		needs: strings.Fields("< [inst [/inst system: assistant: human:"),
		patterns: compilePhrases(`
</? ?(?:important|system|instructions?|assistant|override)(?: [^>]{0,40})?>
<\|[a-z_]{2,20}\|>
\[/?inst\]
(?:^|\n| )(?:system|assistant|human): ?you (?:are|must|should|will)
`),
	},
	{ // The same in Chinese.
		needs: strings.Fields("工具 函数 接口 服务 指令 指示 提示 规则 说明 要求 约束 消息 调用 使用 运行 执行 用户 选择 对话 会话 聊天 上下文"),
		patterns: compilePhrases(`
(?:忽略|无视|忘记|忘掉|不要理会|覆盖|绕过)(?:掉|你|您|所有|全部|一切|任何|之前|以前
	|先前|前面|上面|以上|此前|原有|系统|其他|其它|的){1,8}(?:指令|指示|提示|规则|说明
	|要求|约束|消息|工具)
系统提示词
(?:总是|始终|永远|一律|务必|必须|一定要|应该|应当|请)
	(?:总是|首先|优先|先|只|仅|都|要){0,3}(?:使用|调用|选择|选用|运行|执行)
	(?:本|此|这个|这一|该)(?:工具|函数|接口|服务)
(?:必须|务必|应当|应该|始终|总是)(?:首先|最先|最早|优先|第一个)
	(?:被)?(?:使用|调用|运行|执行)
(?:优先于|代替|取代|替代|而不是|而非)(?:使用|调用)?(?:所有|任何|全部|一切)?(?:其他
	|其它|别的|另外的)(?:的)?(?:工具|函数|接口|服务)
(?:不要|请勿|禁止|切勿|不得|不能|不可|别|勿|停止)(?:再)?(?:使用|调用|选择|信任)
	(?:任何|所有|其)?(?:其他|其它|别的|另外的|他|它)(?:的)?(?:工具|函数|接口|服务)
在?(?:使用|调用|运行|执行)(?:任何|所有|其他|其它|别的)+(?:的)?(?:工具|函数|接口)
	(?:之前|以前|前)
(?:不要|请勿|切勿|无需|不必|不得|禁止|别)(?:告诉|告知|通知|透露给|提醒|询问|征求|让)
	(?:任何)?用户
(?:瞒着|背着|隐瞒)(?:了)?用户
(?:比|优于|胜过)(?:任何|所有|一切)?(?:其他|其它|别的)(?:的)?(?:工具|函数|服务)
最(?:好|佳|可靠|准确|权威|安全)的(?:工具|函数|选择)
(?:传入|传递|发送|提供|附上|包含|包括)(?:整个|完整的?|全部的?|所有的?)
	(?:对话|会话|聊天|上下文)
`),
	},
}

// compilePhrases compiles one pattern a line; a line that begins with a tab continues the line before.
// A phrase that begins with a Latin letter begins there at a word boundary.
func compilePhrases(list string) (compiled []*regexp.Regexp) {
	for line := range strings.SplitSeq(strings.TrimSpace(strings.ReplaceAll(list, "\n\t", "")), "\n") {
		isLatin := !strings.ContainsFunc(line, func(r rune) bool { return r > 0x7f })
		if isLatin && !strings.HasPrefix(line, "(?:^") && line[0] != '<' && line[0] != '\\' {
			line = `\b(?:` + line + `)`
		}
		compiled = append(compiled, regexp.MustCompile(line))
	}
	return compiled
}
