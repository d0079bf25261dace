package uitest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	tools   = "../../eval/testdata/tools.jsonl"
	queries = "../../eval/testdata/queries.jsonl"
)

// names is an expression for the names of a pane's results. Panes count from 1.
func names(pane int) string {
	return fmt.Sprintf(`[...document.querySelectorAll(".pane:nth-child(%d) .hit .name")].map((name) => name.textContent)`, pane)
}

// searched returns the names that the command finds, as the page shows them: the server comes behind a name that
// does not say it.
func searched(t *testing.T, searcher, query string) (list []string) {
	t.Helper()
	text, err := exec.Command(command, "search", "-json", "-n", "20", "-searcher", searcher, tools, query).Output()
	require.NoError(t, err)
	var found struct {
		Matches []struct{ Name, Server string }
	}
	require.NoError(t, json.Unmarshal(text, &found))
	for _, m := range found.Matches {
		if !strings.HasPrefix(m.Name, m.Server+"__") {
			m.Name += " " + m.Server
		}
		list = append(list, m.Name)
	}
	return list
}

// awaitNames waits until a pane shows names in answer to all that was typed: a later answer may bring
// the same names once more, and closes what a test has opened.
func (w *window) awaitNames(pane int, want []string) {
	w.t.Helper()
	list, err := json.Marshal(want)
	require.NoError(w.t, err)
	w.until(fmt.Sprintf(`new URLSearchParams(location.hash.split("?")[1]).get("q") === document.querySelector("[aria-label=Query]")?.value &&
		document.querySelector(".pane:nth-child(%d) ol:not([aria-busy])") !== null && JSON.stringify(%s) === JSON.stringify(%s)`, pane, names(pane), list))
}

// A query typed letter by letter ends with the results that the command finds for all of it,
// and every score is the sum of its parts.
func TestTypeAndRead(t *testing.T) {
	const query = "buy a train ticket"
	w := open(t, tools)
	w.press(query)
	w.awaitNames(1, searched(t, "keyword", query))
	w.awaitNames(2, searched(t, "bm25", query))
	w.until(`document.querySelector("#live").textContent.startsWith("keyword: ")`) // for readers who cannot see it

	w.press(kb.ArrowDown, kb.ArrowDown, kb.Enter)
	assert.Equal(t, "2", w.text(`document.activeElement.querySelector(".rank").textContent`))
	assert.Equal(t, "true", w.text(`document.activeElement.getAttribute("aria-expanded")`))
	sum := 0.0
	for _, score := range w.texts(`[...document.querySelectorAll(".apart:not([hidden]) tbody td.num")].map((cell) => cell.textContent)`) {
		if score != "–" {
			value, err := strconv.ParseFloat(score, 64)
			require.NoError(t, err)
			sum += value
		}
	}
	total, err := strconv.ParseFloat(w.text(`document.activeElement.querySelector(".score").textContent`), 64)
	require.NoError(t, err)
	assert.InDelta(t, total, sum, 0.001, "the parts of a score")

	// Another searcher on the right.
	const pick = ".pane:nth-child(2) select"
	emulated := w.text(`document.querySelector("` + pick + ` option[value=anthropic-bm25]").textContent`)
	assert.Equal(t, "anthropic-bm25 (emulated)", emulated, "the entry of the menu")
	w.run(chromedp.SetValue(pick, "fuzzy"), chromedp.Evaluate(`document.querySelector("`+pick+`").dispatchEvent(new Event("change"))`, nil))
	w.awaitNames(2, searched(t, "fuzzy", query))
	assert.Contains(t, w.text("location.hash"), "b=fuzzy")
	// The address alone restores the same view.
	w.run(chromedp.Reload())
	w.awaitNames(1, searched(t, "keyword", query))
	w.awaitNames(2, searched(t, "fuzzy", query))
}

// An answer that comes late does not replace the answer to what was typed since.
func TestLateAnswers(t *testing.T) {
	w := open(t, tools)
	w.run(chromedp.Evaluate(`const real = fetch, late = []; let holds = true, read = 0;
		fetch = async (url, options) => { // which cannot be given up
			const answer = await real(url, { ...options, signal: undefined });
			if (!holds) return answer;
			answer.json = async () => { setTimeout(() => read++); return Response.prototype.json.call(answer); };
			return new Promise((go) => late.push(() => go(answer)));
		}`, nil))
	w.press("train")
	w.until(`late.length > 1`) // one for each pane
	w.run(chromedp.Evaluate(`holds = false`, nil))
	w.press(" ticket")
	w.awaitNames(2, searched(t, "bm25", "train ticket"))
	w.run(chromedp.Evaluate(`late.forEach((go) => go())`, nil))
	w.until(`read === late.length`)
	w.awaitNames(1, searched(t, "keyword", "train ticket"))
	w.awaitNames(2, searched(t, "bm25", "train ticket"))
}

// Everything can be reached without a mouse.
func TestKeyboard(t *testing.T) {
	w := open(t, "-queries", queries, tools)
	active := func(expression string) string { return w.text("document.activeElement" + expression) }
	w.press("ticket")
	w.awaitNames(1, searched(t, "keyword", "ticket"))
	w.awaitNames(2, searched(t, "bm25", "ticket"))

	w.press(kb.ArrowDown)
	assert.Equal(t, "1", active(`.querySelector(".rank").textContent`))
	w.press(kb.ArrowRight)
	assert.Equal(t, "bm25", active(`.closest(".pane").getAttribute("aria-label")`))
	w.press(kb.ArrowLeft, kb.Enter)
	assert.Equal(t, "true", active(`.getAttribute("aria-expanded")`))
	assert.NotEqual(t, "none", w.text(`getComputedStyle(document.activeElement).outlineStyle`), "the focus can be seen")
	w.press(kb.Escape)
	assert.Equal(t, "false", active(`.getAttribute("aria-expanded")`))
	w.press(kb.Escape)
	assert.Equal(t, "INPUT", active(".tagName"))
	w.press(kb.Escape)
	assert.Empty(t, active(".value"), "the query")
	w.press(kb.Escape)
	w.shortcut("?")
	w.until(`document.querySelector("#help").open`)
	w.press(kb.Escape)
	w.until(`!document.querySelector("#help").open`)
	w.shortcut("/")
	assert.Equal(t, "INPUT", active(".tagName"))
	assert.Empty(t, active(".value"), "the query")
	w.press(kb.Escape)
	w.shortcut("2")

	// The picture of the tokens: a server, its tools, a definition, and back.
	w.until(`document.activeElement.matches("#view-tokens .cell")`)
	w.press(kb.ArrowRight, kb.Enter)
	w.until(`!document.querySelector(".crumbs button").hidden`)
	w.enter()
	w.until(`document.querySelector("#sheet").open`)
	w.press(kb.Escape)
	w.until(`!document.querySelector("#sheet").open`)
	w.press(kb.Escape)
	w.until(`document.querySelector(".crumbs button").hidden`)

	// The tabs.
	w.run(chromedp.Focus("#tab-tokens"))
	w.press(kb.ArrowRight)
	w.until(`document.activeElement.id === "tab-findings" && !document.querySelector("#view-findings").hidden`)
	w.press(kb.ArrowLeft, kb.ArrowLeft)
	w.until(`document.activeElement.id === "tab-search" && !document.querySelector("#view-search").hidden`)
	w.shortcut("5")
	w.until(`document.activeElement.matches("#view-misses [role=listbox]")`)
}

// What the model sees changes with the protocol, and a conversation of one's own shape is played.
func TestModelAndShape(t *testing.T) {
	w := open(t, tools)
	w.press(kb.Escape, "5")
	w.until(`document.querySelector(".seen pre") !== null`)
	w.until(`document.querySelectorAll(".seen")[1].textContent.includes("books_search")`)
	w.run(chromedp.SetValue("[aria-label=Protocol]", "dispatch"), chromedp.Evaluate(`document.querySelector("[aria-label=Protocol]").dispatchEvent(new Event("change"))`, nil))
	w.until(`document.querySelector(".seen").textContent.includes("call_tool")`)
	w.until(`document.querySelector(".seen").textContent.includes("books_renew")`)
	w.run(chromedp.SetValue("[aria-label^='What a Filter']", "books_search, train:*"), chromedp.Evaluate(`document.querySelector("[aria-label^='What a Filter']").dispatchEvent(new Event("change"))`, nil))
	w.until(`!document.querySelector(".seen").textContent.includes("books_renew") && document.querySelector(".seen").textContent.includes("train__")`)

	w.run(chromedp.Evaluate(`location.hash = "costs"`, nil))
	w.until(`document.querySelectorAll(".runs section").length > 2`)
	w.run(chromedp.Evaluate(`document.querySelectorAll(".number")[1].value = 7; document.querySelector("form.against button").focus(); document.activeElement.click()`, nil))
	w.until(`document.querySelectorAll(".runs section").length === 2 && document.querySelector(".runs h3").textContent === "20,000 tokens of history, 7 calls, 3 loads, cold cache"`)
	w.until(`document.activeElement.matches("form.against button")`)

	// A refusal is shown and blocks nothing. The browser would write a real one to the console.
	w.run(chromedp.Evaluate(`{ const real = fetch; window.fetch = async () => { window.fetch = real; return Response.json({ error: "too long" }, { status: 400 }); };
		document.querySelector("form.against button").click(); }`, nil))
	w.until(`document.getElementById("alert").textContent === "too long" && document.querySelector("[aria-busy=true]") === null`)
	w.run(chromedp.Evaluate(`document.querySelectorAll("form.against button")[1].click()`, nil))
	w.until(`document.querySelectorAll(".runs section").length > 2 && document.getElementById("alert").hidden`)
}

// A person plays the model of a trial: what is new in a request is open, and replies go on to the report.
func TestPlayTheModel(t *testing.T) {
	chromium(t)
	trial := exec.Command(command, "trial", "-model", "manual", "-way", "dispatch", "-o", filepath.Join(t.TempDir(), "trial.jsonl"),
		"-tasks", file(t, "tasks.jsonl", `{"query": "Where is the novel?", "gold": ["books_search"]}`), tools)
	stderr, err := trial.StderrPipe()
	require.NoError(t, err)
	var report bytes.Buffer
	trial.Stdout = &report
	require.NoError(t, trial.Start())
	defer trial.Process.Kill()
	line, err := bufio.NewReader(stderr).ReadString('\n')
	require.NoError(t, err)
	w := browse(t, line[strings.Index(line, "http"):len(line)-1])
	reply := func(box, text string) {
		w.run(chromedp.SendKeys("[name="+box+"]", text))
		_, err := chromedp.RunResponse(w.ctx, chromedp.Click("button")) // the page waits for the next request
		require.NoError(t, err)
	}
	opened := `[...document.querySelectorAll("details.new[open]")].some((part) => part.textContent.includes(%q))`
	w.until(fmt.Sprintf(opened, "Where is the novel?"))
	reply("calls", `[{"name": "tool_search", "arguments": {"query": "novel book"}}]`)
	w.until(fmt.Sprintf(opened, "books_search"))
	assert.Equal(t, "true", w.text(`document.querySelector("details:not(.new):not([open])") !== null`), "what is not new is closed")
	reply("calls", `[{"name": "call_tool", "arguments": {"name": "books_search", "arguments": {}}}]`)
	w.run(chromedp.SendKeys("[name=say]", "It is on the shelf."), chromedp.Click("button"))
	require.NoError(t, trial.Wait())
	assert.Regexp(t, `(?m)^dispatch +1 +100%`, report.String())
}

// A miss leads to the wanted tool, to what came first instead and why, and from there to the
// search.
func TestFollowAMiss(t *testing.T) {
	w := open(t, "-queries", queries, tools)
	w.view("misses")
	w.until(`document.querySelectorAll("#view-misses [role=option]").length > 1`)
	w.run(chromedp.Focus("#view-misses [role=listbox]"))
	w.press(kb.ArrowDown)
	w.until(`document.querySelector("[role=option][aria-selected=true]").getAttribute("aria-posinset") === "2"`)
	query := w.text(`document.querySelector("[role=option][aria-selected=true] span:nth-child(3)").textContent`)
	w.until(fmt.Sprintf(`document.querySelector(".detail h2").textContent === %q && document.querySelectorAll(".versus li").length > 1`, query))
	roles := w.texts(`[...document.querySelectorAll(".versus .role")].map((role) => role.textContent)`)
	assert.Equal(t, "wanted", roles[0])
	assert.Equal(t, "came first", roles[len(roles)-1])
	first := w.text(`[...document.querySelectorAll(".versus .name")].at(-1).textContent`)
	assert.Equal(t, searched(t, "keyword", query)[0], first, "what the command finds first")
	assert.Contains(t, w.text(`document.querySelector(".detail table").textContent`), "difference")

	w.run(chromedp.Click(`.detail .actions a`))
	w.awaitNames(1, searched(t, "keyword", query))
	assert.Equal(t, query, w.text(`document.querySelector("[aria-label=Query]").value`))
}

// Names and descriptions that attack stay texts, in every view.
func TestHostileTexts(t *testing.T) {
	const (
		image  = `<img src=x onerror="window.hacked=1">`
		script = `</script><script>window.hacked=1</script>`
		remote = `<link rel=stylesheet href=//evil.example/x.css><svg/onload=fetch("//evil.example")>`
	)
	long := strings.Repeat("w", 10_000)
	catalog := file(t, image+".jsonl", tool(image, "One "+script+remote, image)+tool("a\u202egnp.exe", "One \u202etxt\u200b", "\u202eserver")+
		tool(long, "One "+long, long)+tool("javascript:alert(1)", "One {{constructor}} ${window.hacked=1}", "s"))
	asked := file(t, "queries.jsonl", fmt.Sprintf(`{"query": %q, "gold": ["javascript:alert(1)"], "kind": %q}`, "One "+image, image)+"\n"+`{"query": "`+long+`", "gold": ["javascript:alert(1)"]}`)
	w := open(t, "-queries", asked, catalog)
	intact := func() {
		t.Helper()
		assert.Equal(t, "undefined", w.text("window.hacked"))
		assert.Equal(t, "0", w.text(`document.querySelectorAll("img, iframe, object, embed, form, body script, body link, body style, [onerror], [onload]").length`), "foreign elements")
		assert.Equal(t, "false", w.text(`document.documentElement.textContent.includes("\u202e")`), "a text that reorders its neighbours")
		assert.Empty(t, w.texts(tooWide), "what is wider than the page")
	}
	for _, width := range []int64{1440, 360} {
		w.size(width, 800)
		w.view("search")
		w.run(chromedp.Focus("[aria-label=Query]"))
		if width == 360 {
			w.press(kb.Escape)
			w.until(`document.querySelectorAll(".hit").length === 0`)
		}
		w.press("One")
		w.until(`document.querySelectorAll(".pane:first-child .hit").length === 4`)
		shown := w.texts(names(1))
		assert.Contains(t, shown, image+" "+image, "the name and the server as they are")
		assert.Contains(t, shown, `a\u202egnp.exe \u202eserver`, "the character that reorders its neighbours, as an escape")
		// The answer to "On" may come first. The answer to "One" then closes the hits again.
		for id := range 4 {
			w.until(fmt.Sprintf(`(() => {
				document.querySelectorAll(".pane:first-child .hit > button[aria-expanded=false]").forEach((button) => button.click());
				const definitions = document.querySelectorAll(".pane:first-child .tail button");
				if (definitions.length !== 4) return false;
				definitions[%d].click();
				return true;
			})()`, id))
			intact()
			w.until(`document.querySelector("#sheet").open`)
			intact()
			w.run(chromedp.Evaluate(`document.querySelector("#sheet").close()`, nil))
		}
		for _, view := range []string{"tokens", "findings", "misses"} {
			w.view(view)
			w.until(fmt.Sprintf(`document.querySelectorAll("#view-%s [role=option]").length > 0`, view))
			w.run(chromedp.Evaluate(`document.querySelector("[role=tabpanel]:not([hidden]) [role=option]").click()`, nil))
			intact()
			w.run(chromedp.Evaluate(`document.querySelectorAll("dialog").forEach((dialog) => dialog.close())`, nil))
		}
	}
	assert.Contains(t, w.text("document.title"), image)

	w = open(t, file(t, "short.jsonl", tool("short", "One \u202etxt"+script, "s"))) // an agent refuses the long name
	w.view("model")
	w.until(`document.querySelectorAll(".seen")[1].textContent.includes("One \\u202etxt")`)
	intact()
}

// Every view fits every window, and is dark where the reader wants it dark.
func TestSizes(t *testing.T) {
	catalog := ""
	for _, path := range []string{tools, "../../cmd/toolsearch/testdata/problems.jsonl"} { // for the findings
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		catalog += string(text)
	}
	w := open(t, "-queries", queries, file(t, "tools.jsonl", catalog))
	brightness := func() float64 {
		var sum float64
		w.run(chromedp.Evaluate(`getComputedStyle(document.documentElement).backgroundColor.match(/[0-9.]+/g).slice(0, 3).map(Number).reduce((a, b) => a + b) / 3`, &sum))
		return sum
	}
	for _, scheme := range []string{"light", "dark"} {
		w.scheme(scheme)
		if scheme == "dark" {
			assert.Less(t, brightness(), 60.0, "a dark page")
		} else {
			assert.Greater(t, brightness(), 200.0, "a light page")
		}
		for _, width := range []int64{1440, 768, 360} {
			w.size(width, 900)
			for _, view := range []string{"search", "search?q=buy+a+ticket", "tokens", "findings", "costs", "model", "misses"} {
				w.run(chromedp.Evaluate(fmt.Sprintf("location.hash = %q", view), nil))
				name, _, isSearch := strings.Cut(view, "?")
				w.until(fmt.Sprintf(`document.querySelector("#view-%s")?.hidden === false && document.querySelector("#view-%s [aria-busy=true]") === null`, name, name))
				if isSearch {
					w.until(`document.querySelectorAll(".pane:last-child .hit").length > 0`)
					w.run(chromedp.Evaluate(`document.querySelector(".pane:last-child .hit > button[aria-expanded=false]")?.click()`, nil))
					name = "results"
				}
				assert.Empty(t, w.texts(tooWide), "%s at %d px, %s: what is wider than the page", view, width, scheme)
				assert.Empty(t, w.texts(unreadable), "%s at %d px, %s: texts of low contrast", view, width, scheme)
				w.picture(fmt.Sprintf("%s-%d-%s", name, width, scheme))
			}
		}
	}
}

// tooWide lists the elements for which the page gets a horizontal scroll bar.
const tooWide = `(() => {
	const width = document.documentElement.clientWidth;
	if (document.documentElement.scrollWidth <= width) return [];
	return [...document.querySelectorAll("body *")].filter((element) => element.getBoundingClientRect().right > width).map((element) => element.tagName + "." + element.getAttribute("class"));
})()`

// unreadable lists the texts whose contrast with the page is under 4.5, which WCAG 2 asks for.
const unreadable = `(() => {
	const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
	const color = (element, key) => getComputedStyle(element)[key].match(/[0-9.]+/g).map(Number);
	const behind = (element) => {
		for (let e = element; e; e = e.parentElement) { const c = color(e, "backgroundColor"); if (c.length === 3 || c[3] === 1) return c; }
		return [255, 255, 255];
	};
	const low = [];
	for (const element of document.querySelectorAll("body *:not(option):not(svg *)")) {
		if (!element.offsetParent || ![...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== "")) continue;
		const [a, b] = [light(color(element, "color")), light(behind(element))].sort((x, y) => y - x);
		if ((a + 0.05) / (b + 0.05) < 4.5) low.push(element.className + ": " + element.textContent.slice(0, 30) + " " + ((a + 0.05) / (b + 0.05)).toFixed(2));
	}
	return low;
})()`

// With 10,000 tools the document holds the rows that can be seen, and every row can be reached.
func TestTenThousandTools(t *testing.T) {
	var catalog strings.Builder
	for i := range 10_000 {
		catalog.WriteString(tool(fmt.Sprintf("server%d__tool_%d", i%150, i), fmt.Sprintf("Does what is %d of many things", i), fmt.Sprintf("server%d", i%150)))
	}
	w := open(t, file(t, "many.jsonl", catalog.String()))
	w.press("tool 9999")
	w.until(names(2) + `[0] === "server99__tool_9999"`)
	w.view("tokens")
	w.until(`document.querySelectorAll("[aria-label=Tools] [role=option]").length > 0`)
	rows := func() int {
		n, err := strconv.Atoi(w.text(`document.querySelectorAll("[aria-label=Tools] [role=option]").length`))
		require.NoError(t, err)
		return n
	}
	assert.Less(t, rows(), 60, "rows in the document")
	assert.Equal(t, "10000", w.text(`document.querySelector("[aria-label=Tools] [role=option]").getAttribute("aria-setsize")`))
	w.run(chromedp.Focus("[role=listbox][aria-label=Tools]"))
	w.press(kb.End)
	w.until(`document.querySelector("[aria-label=Tools] [aria-selected=true]")?.getAttribute("aria-posinset") === "10000"`)
	assert.Less(t, rows(), 60, "rows in the document at the end")
	w.run(chromedp.SendKeys("[aria-label='Filter tools by name']", "tool_9999"))
	w.until(`document.querySelector("[aria-label=Tools] [role=option]").getAttribute("aria-setsize") === "1"`)
}
