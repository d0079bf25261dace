"use strict";

// The page of a conversation. Its id is in the address after "#", so that a reload shows it again.
// All that comes from the service becomes text, never HTML.

const element = (id) => document.getElementById(id);
const talk = element("talk"), text = element("text"), user = element("user");
let running = null; // the AbortController of the answer that is coming

function headers(more) {
	return { "X-User": user.value, ...more };
}

// add shows a line of the conversation at its end.
function add(kind, content) {
	const line = document.createElement("div");
	line.className = kind;
	line.textContent = content;
	return append(line);
}

// addDetails shows a line that opens at a click.
function addDetails(title, content) {
	const line = document.createElement("details"), summary = document.createElement("summary"), code = document.createElement("code");
	summary.textContent = title;
	code.textContent = content;
	line.append(summary, code);
	return append(line);
}

function append(line) {
	const atEnd = talk.scrollHeight - talk.scrollTop - talk.clientHeight < 80;
	talk.append(line);
	if (atEnd) talk.scrollTop = talk.scrollHeight;
	return line;
}

let answer = null; // the line that grows with the model's text

// show shows an event of the service.
function show(name, data) {
	if (name !== "text") answer = null;
	switch (name) {
	case "question": add("question", data.text); break;
	case "text":
		answer ??= add("text", "");
		answer.textContent += data.text;
		talk.scrollTop = talk.scrollHeight;
		break;
	case "call": addDetails("calls " + data.name, data.arguments); break;
	case "result": addDetails("gets the result of " + data.name, data.text); break;
	case "error": add("error", data.text); break;
	case "done": showLoaded(data.loaded); break;
	}
}

function showLoaded(names) {
	element("loaded").textContent = names && names.length ? names.join(", ") : "none yet";
}

// events reads server-sent events. EventSource cannot send a question, so fetch does it.
async function* events(body) {
	const decoder = new TextDecoder();
	let rest = "";
	for await (const chunk of chunks(body)) {
		rest += decoder.decode(chunk, { stream: true });
		const blocks = rest.split("\n\n");
		rest = blocks.pop();
		for (const block of blocks) {
			const field = (name) => block.split("\n").find((line) => line.startsWith(name + ": "))?.slice(name.length + 2);
			yield [field("event"), JSON.parse(field("data"))];
		}
	}
}

async function* chunks(body) { // not every browser can iterate a stream
	const reader = body.getReader();
	for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
}

async function checked(response) {
	if (!response.ok) throw new Error((await response.text()).trim() || response.statusText);
	return response;
}

async function ask(question) {
	running = new AbortController();
	element("send").hidden = true;
	element("stop").hidden = false;
	show("question", { text: question });
	try {
		if (!location.hash) {
			const made = await checked(await fetch("conversations", { method: "POST", headers: headers(), signal: running.signal }));
			history.replaceState(null, "", "#" + (await made.json()).id);
		}
		const response = await checked(await fetch("conversations/" + location.hash.slice(1), {
			method: "POST", headers: headers({ "Content-Type": "application/json" }),
			body: JSON.stringify({ text: question }), signal: running.signal,
		}));
		let ended = false;
		for await (const [name, data] of events(response.body)) {
			show(name, data);
			ended = name === "done";
		}
		if (!ended) throw new Error("The connection was lost.");
	} catch (failure) {
		show("error", { text: failure.name === "AbortError" ? "Stopped." : failure.message });
	} finally {
		running = null;
		element("send").hidden = false;
		element("stop").hidden = true;
		text.focus();
	}
}

// reload shows the conversation that the address names.
async function reload() {
	talk.replaceChildren();
	showLoaded([]);
	answer = null;
	if (!location.hash) return;
	try {
		const response = await checked(await fetch("conversations/" + location.hash.slice(1), { headers: headers() }));
		const stored = await response.json();
		for (const { name, data } of stored.messages) show(name, data);
		showLoaded(stored.loaded);
	} catch (failure) {
		show("error", { text: failure.message });
	}
}

function leave() {
	running?.abort();
	history.replaceState(null, "", location.pathname);
	reload();
}

element("form").addEventListener("submit", (event) => {
	event.preventDefault();
	const question = text.value.trim();
	if (!question || running) return;
	text.value = "";
	ask(question);
});
text.addEventListener("keydown", (event) => {
	if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
		event.preventDefault();
		element("form").requestSubmit();
	}
});
element("stop").addEventListener("click", () => running?.abort());
element("new").addEventListener("click", leave);
user.value = localStorage.getItem("user") || "ann";
user.addEventListener("change", () => {
	localStorage.setItem("user", user.value);
	leave(); // a conversation belongs to its user
});
addEventListener("hashchange", reload);
reload();
