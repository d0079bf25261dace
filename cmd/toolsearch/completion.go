package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Completion of command lines in bash, zsh and fish. The scripts know nothing of the program: they
// run "toolsearch __complete WORD...", where the last word is the one to complete, and offer the
// lines that it prints:
//
//	word TAB what it means
//	:files                  names of files as well
//
// The candidates are read from the help texts, so they cannot differ from them.

var shellNames = []string{"bash", "zsh", "fish"}

// shells are the scripts of the command completion.
var shells = map[string]string{
	"bash": `# bash: source <(toolsearch completion bash)
_toolsearch() {
	local line files= IFS=$'\n'
	COMPREPLY=()
	while read -r line; do
		if [[ $line == :files ]]; then
			files=1
		else
			COMPREPLY+=("${line%%$'\t'*}")
		fi
	done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
	if [[ $files ]]; then
		compopt -o filenames 2>/dev/null
		COMPREPLY+=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
	fi
}
complete -F _toolsearch toolsearch
`,
	"zsh": `#compdef toolsearch
# zsh: source <(toolsearch completion zsh), after compinit
_toolsearch() {
	local line files=
	local -a items
	while IFS= read -r line; do
		if [[ $line == :files ]]; then
			files=1
		else
			items+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
		fi
	done < <("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
	(( $#items )) && _describe toolsearch items
	[[ -n $files ]] && _files
}
compdef _toolsearch toolsearch
`,
	"fish": `# fish: toolsearch completion fish | source
function __toolsearch_complete
	set -l words (commandline -opc)
	set -l lines ($words[1] __complete $words[2..-1] (commandline -ct) 2>/dev/null)
	string match -v -- :files $lines
	if contains -- :files $lines
		__fish_complete_path (commandline -ct)
	end
end
complete -c toolsearch -f -a '(__toolsearch_complete)'
`,
}

const completionHelp = `toolsearch completion SHELL

Prints a script by which a shell completes commands, flags, searchers, files and the
names of a file's tools. SHELL is bash, zsh or fish.

Examples:

	source <(toolsearch completion bash)       # in ~/.bashrc
	source <(toolsearch completion zsh)        # in ~/.zshrc, after compinit
	toolsearch completion fish | source        # in config.fish

Exit status: 0 the script was printed, 2 a mistake.
`

func (c *command) completion(_ context.Context, operands []string) (int, error) {
	if len(operands) != 1 {
		return failed, wrongUsage("completion: want %s", strings.Join(shellNames, ", "))
	}
	script, ok := shells[operands[0]]
	if !ok {
		return failed, wrongUsage("completion: no shell %q; %s", operands[0], near(operands[0], shellNames))
	}
	_, err := fmt.Fprint(c.out, script)
	return found, err
}

// A helpFlag is a flag as the help text of a command has it.
type helpFlag struct {
	name  string // with its "-"
	value string // FILE, NAME, ...; "" means that the flag takes none
	about string
}

var helpFlagLine = regexp.MustCompile(`(?m)^\t(-[a-z]+)(?: ("[^"]*"|[A-Z][A-Z=,]*))? {2,}(.*)$`)

// flagsOf returns the flags of a command.
func flagsOf(command string) (flags []helpFlag) {
	_, text, _ := strings.Cut(helps[command], "\nFlags:\n")
	for _, m := range helpFlagLine.FindAllStringSubmatch(text, -1) {
		flags = append(flags, helpFlag{m[1], m[2], m[3]})
	}
	return flags
}

// flagNames returns the names of a command's flags.
func flagNames(command string) (names []string) {
	for _, f := range flagsOf(command) {
		names = append(names, f.name)
	}
	return names
}

// complete prints the words that can replace the last word.
func (c *command) complete(ctx context.Context, words []string) error {
	if len(words) == 0 {
		return errors.New("want the words of a command line")
	}
	words, prefix := joinEquals(words)
	last := words[len(words)-1]
	for _, line := range c.candidates(ctx, words[:len(words)-1], last) {
		if line == ":files" || strings.HasPrefix(line, last) {
			fmt.Fprintln(c.out, strings.TrimPrefix(line, prefix))
		}
	}
	return nil
}

// joinEquals undoes what bash does to "-flag=value": bash splits it into three words, and wants
// only the part after the "=". prefix is the part before.
func joinEquals(words []string) (joined []string, prefix string) {
	for i, word := range words {
		switch {
		case i > 0 && word == "=" || i > 1 && words[i-1] == "=":
			joined[len(joined)-1] += word
		default:
			joined = append(joined, word)
		}
	}
	last := joined[len(joined)-1]
	if at := strings.Index(last, "="); at >= 0 && last != words[len(words)-1] {
		prefix = last[:at+1]
	}
	return joined, prefix
}

// candidates returns what may follow the words of a command line, as lines of the protocol.
func (c *command) candidates(ctx context.Context, before []string, last string) (lines []string) {
	if len(before) == 0 {
		for _, name := range commands {
			about, _, _ := strings.Cut(usageOf(name), "\n")
			lines = append(lines, name+"\t"+about)
		}
		return lines
	}
	name := before[0]
	switch {
	case slices.Contains(before, "--"): // the command of a server
		return []string{":files"}
	case name == "help":
		return commands
	case name == "completion":
		return shellNames
	case helps[name] == "":
		return nil
	}
	flags := flagsOf(name)
	value := func(flag, prefix, typed string) (lines []string, takes bool) {
		i := slices.IndexFunc(flags, func(f helpFlag) bool { return f.name == flag })
		switch {
		case i < 0 || flags[i].value == "":
			return nil, false
		case flags[i].value == "FILE" && prefix == "":
			return []string{":files"}, true
		case flag == "-searcher":
			return searcherLines(prefix, typed), true
		}
		return nil, true
	}
	if flag, typed, ok := strings.Cut(last, "="); ok {
		lines, _ = value(cmp.Or(canonical(flag), flag), flag+"=", typed)
		return lines
	}
	if lines, takes := value(canonical(before[len(before)-1]), "", last); takes && len(before) > 1 {
		return lines
	}
	if strings.HasPrefix(last, "-") {
		for _, f := range flags {
			lines = append(lines, f.name+"\t"+f.about)
		}
		return append(lines, "-h\thelp", "--\tand the command of a server")
	}
	return append([]string{":files"}, c.toolNames(ctx, name, before[1:])...)
}

// canonical writes --flag as -flag.
func canonical(flag string) string {
	if strings.HasPrefix(flag, "--") && len(flag) > 2 {
		return flag[1:]
	}
	return flag
}

// searcherLines returns the values of -searcher, also for the second searcher after a comma.
func searcherLines(prefix, typed string) (lines []string) {
	if i := strings.LastIndex(typed, ","); i >= 0 {
		prefix += typed[:i+1]
	}
	for _, s := range searchers {
		lines = append(lines, prefix+s.name+"\t"+s.about)
	}
	for _, s := range embedSearchers {
		lines = append(lines, prefix+s.name+"\t"+s.about)
	}
	return lines
}

// toolNames returns the names of a file's tools, where a command takes names of tools. Servers are
// not asked: nobody wants to start a server by pressing a key.
func (c *command) toolNames(ctx context.Context, name string, words []string) []string {
	const most = 8 << 20 // bytes of a file that is read while somebody waits
	from := map[string]int{"explain": 2, "approve": 1}[name]
	operands := operandsOf(flagsOf(name), words)
	if from == 0 || len(operands) < from {
		return nil
	}
	if info, err := os.Stat(operands[0]); err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return nil
	}
	_, data, err := c.readFile(ctx, operands[0])
	if err != nil || serversOf(topLevel(data)) != nil {
		return nil
	}
	tools, err := readDefinitions(data, operands[0])
	if err != nil {
		return nil
	}
	var names []string
	for _, d := range tools {
		if takenName.MatchString(d.Name) { // any other name could break out of its line
			names = append(names, d.Name)
		}
	}
	return names
}

// operandsOf returns the words that are neither flags nor their values.
func operandsOf(flags []helpFlag, words []string) (operands []string) {
	for i := 0; i < len(words); i++ {
		takes := func(f helpFlag) bool { return f.name == canonical(words[i]) && f.value != "" }
		switch {
		case slices.ContainsFunc(flags, takes):
			i++
		case words[i] == "-" || !strings.HasPrefix(words[i], "-"):
			operands = append(operands, words[i])
		}
	}
	return operands
}

// usageOf returns what the program's help says about a command.
func usageOf(command string) string {
	for line := range strings.Lines(programHelp) {
		words := strings.Fields(line)
		if len(words) > 2 && words[0] == "toolsearch" && words[1] == command {
			if i := strings.LastIndex(strings.TrimRight(line, "\n"), "   "); i >= 0 {
				return strings.TrimSpace(line[i:])
			}
		}
	}
	return ""
}
