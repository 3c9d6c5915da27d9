// Asks like any OpenAI client, and shows the pieces as they come. Talks to no other host.
"use strict";

const $ = (id) => document.getElementById(id);
let leaving = null;  // aborts the text that is being written

/** Yields the decoded events of a stream as they come. */
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let unread = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error("The text broke off.");
    const parts = (unread + value).split("\n\n");
    unread = parts.pop();
    for (const part of parts) {
      if (part === "data: [DONE]") return;
      if (!part.startsWith("data: ")) throw new Error("The model failed in mid-text.");
      yield JSON.parse(part.slice(6));
    }
  }
}

async function write() {
  leaving?.abort();
  const mine = leaving = new AbortController();
  const began = performance.now();
  start();
  try {
    const response = await fetch("v1/chat/completions", {
      method: "POST", signal: mine.signal, headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ model: "babble", stream: true, max_tokens: 1500, messages: [{ role: "user", content: $("question").value }] }),
    });
    if (!response.ok) throw new Error(await whyNot(response));
    $("lane").textContent = `lane ${response.headers.get("Turnpike-Lane") ?? "?"}`;
    await show(response, began);
    $("spoken").textContent = $("text").textContent;
  } catch (problem) {
    if (mine.signal.aborted) return;
    say(problem instanceof TypeError ? "The gate does not answer. Is turnpike still running?" : problem.message);
  } finally {
    if (leaving === mine) end();
  }
}

async function show(response, began) {
  let count = 0, first = null;
  for await (const { choices } of events(response)) {
    const piece = choices[0]?.delta.content;
    if (!piece) continue;
    first ??= performance.now();
    count += [...piece].length;
    $("text").append(piece);
    $("first").textContent = `${Math.round(first - began)} ms`;
    $("count").textContent = count;
    const seconds = (performance.now() - first) / 1000;
    if (seconds > 0.02) $("rate").textContent = Math.round(count / seconds);
  }
}

/** Returns the error's text: the gate's (detail, title) or the model's (error). */
async function whyNot(response) {
  const body = await response.json().catch(() => null);
  return body?.error?.message || body?.detail || body?.title || `The gate answered ${response.status}.`;
}

function start() {
  $("text").textContent = "";
  for (const id of ["lane", "first", "count", "rate"]) $(id).textContent = "–";
  $("text").classList.add("writes");
  $("stop").disabled = false;
  say("");
}

function end() {
  leaving = null;
  $("text").classList.remove("writes");
  $("stop").disabled = true;
}

function stop() {
  leaving?.abort();
  end();
}

/** Shows what went wrong. An empty text hides the message. */
function say(text) {
  $("trouble").textContent = text;
  $("trouble").hidden = !text;
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  write();
});
$("stop").addEventListener("click", stop);
document.addEventListener("keydown", (event) => { if (event.key === "Escape") stop(); });
