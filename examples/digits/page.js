// Takes a drawing, reduces it to 8 x 8 pixels, asks the model and shows its answer. Talks to no other host.
"use strict";

const $ = (id) => document.getElementById(id);

// ── From strokes to pixels, the way the training data was made ─────────────────────────────────────────────────────
// For the training data, a digit was fitted into 20 x 32 of 32 x 32 dots and thickened or thinned to about the same amount of
// ink. Then the inked dots of every 4 x 4 block were counted. A stroke is a list of [x, y], from 0 to 1 across the paper.

const DOTS = 32, WIDE = 20, INK = 312;
const SPECK = 0.1;  // smaller drawings are not enlarged to a digit

function pixelsOf(strokes) {
  let thin = 0.8, thick = 6;
  for (let round = 0; round < 9; round++) {
    const radius = (thin + thick) / 2;
    if (count(dotsOf(strokes, radius)) < INK) thin = radius; else thick = radius;
  }
  const dots = dotsOf(strokes, thin), pixels = new Array(64).fill(0);
  dots.forEach((on, at) => { pixels[(at >> 7) * 8 + ((at & 31) >> 2)] += on; });
  return pixels;
}

const count = (dots) => dots.reduce((sum, on) => sum + on, 0);

/** Returns the strokes on 32 x 32 dots, drawn with a round pen of that radius. */
function dotsOf(strokes, radius) {
  const dots = new Uint8Array(DOTS * DOTS), place = fitting(strokes, radius);
  for (const stroke of strokes) {
    const points = stroke.map(place);
    for (let i = 0; i < points.length; i++) ink(dots, points[Math.max(i - 1, 0)], points[i], radius);
  }
  return dots;
}

/** Returns a function that maps a point of the drawing to the dots, so that the drawing and the pen just fit. */
function fitting(strokes, radius) {
  const xs = strokes.flat().map((point) => point[0]), ys = strokes.flat().map((point) => point[1]);
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  let across = (WIDE - 2 * radius) / Math.max(right - left, SPECK), down = (DOTS - 2 * radius) / Math.max(bottom - top, SPECK);
  across = Math.min(across, 2 * down);  // keeps a 1 slim and a dash low
  down = Math.min(down, 2 * across);
  const [middle, centre] = [(left + right) / 2, (top + bottom) / 2];
  return ([x, y]) => [(x - middle) * across + DOTS / 2, (y - centre) * down + DOTS / 2];
}

/** Sets every dot whose centre is within the radius of the line from a to b. */
function ink(dots, a, b, radius) {
  const [dx, dy] = [b[0] - a[0], b[1] - a[1]], length2 = dx * dx + dy * dy;
  const from = (p, q) => Math.max(Math.floor(Math.min(p, q) - radius), 0);
  const to = (p, q) => Math.min(Math.ceil(Math.max(p, q) + radius), DOTS - 1);
  for (let row = from(a[1], b[1]); row <= to(a[1], b[1]); row++) {
    for (let column = from(a[0], b[0]); column <= to(a[0], b[0]); column++) {
      const [px, py] = [column + 0.5 - a[0], row + 0.5 - a[1]];
      const along = length2 ? Math.min(Math.max((px * dx + py * dy) / length2, 0), 1) : 0;
      const [ox, oy] = [px - along * dx, py - along * dy];
      if (ox * ox + oy * oy <= radius * radius) dots[row * DOTS + column] = 1;
    }
  }
}

// ── The paper ──────────────────────────────────────────────────────────────────────────────────────────────────────

const paper = $("paper");
let strokes = [];  // of [x, y] from 0 to 1
let pen = null;  // the pointer that draws
let drawing = 0;  // counts drawings; answers for an old one are dropped

function paint() {
  const scale = window.devicePixelRatio || 1, box = paper.getBoundingClientRect();
  const [wide, high] = [Math.round(box.width * scale), Math.round(box.height * scale)];
  if (paper.width !== wide || paper.height !== high) [paper.width, paper.height] = [wide, high];
  const context = paper.getContext("2d");
  context.clearRect(0, 0, wide, high);
  context.strokeStyle = getComputedStyle(paper).color;
  context.lineWidth = 0.07 * Math.min(wide, high);
  context.lineCap = context.lineJoin = "round";
  for (const stroke of strokes) {
    const at = (i) => [stroke[i][0] * wide, stroke[i][1] * high];
    context.beginPath();
    context.moveTo(...at(0));
    for (let i = 1; i < stroke.length - 1; i++) {  // through the midpoints, to round off corners
      const [x, y] = at(i), [nx, ny] = at(i + 1);
      context.quadraticCurveTo(x, y, (x + nx) / 2, (y + ny) / 2);
    }
    context.lineTo(...at(stroke.length - 1));
    context.stroke();
  }
}

const pointOf = (event) => {
  const box = paper.getBoundingClientRect();
  return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
};

paper.addEventListener("pointerdown", (event) => {
  if (pen !== null || event.button !== 0) return;
  stopSample();
  pen = event.pointerId;
  paper.setPointerCapture(pen);
  strokes.push([pointOf(event)]);
  paint();
  event.preventDefault();
});

paper.addEventListener("pointermove", (event) => {
  if (event.pointerId !== pen) return;
  const all = event.getCoalescedEvents ? event.getCoalescedEvents() : [];
  for (const one of all.length ? all : [event]) strokes.at(-1).push(pointOf(one));
  paint();
  ask("draft");
});

for (const kind of ["pointerup", "pointercancel"]) {
  paper.addEventListener(kind, (event) => {
    if (event.pointerId !== pen) return;
    pen = null;
    ask("final");
  });
}

function clear() {
  stopSample();
  strokes = [];
  pen = null;
  drawing++;
  wanted = null;
  clearTimeout(again);
  paint();
  show(null);
}

// ── Digits that draw themselves, for the keyboard and as a demonstration ──────────────────────────────────────────

const SAMPLES = [
  [[[50, 8], [27, 24], [21, 60], [36, 90], [62, 91], [79, 64], [74, 24], [50, 8]]],
  [[[36, 28], [54, 9]], [[54, 9], [54, 92]]],
  [[[24, 28], [36, 10], [60, 9], [72, 26], [62, 50], [40, 71], [22, 91]], [[22, 91], [78, 90]]],
  [[[26, 16], [48, 8], [69, 18], [66, 36], [44, 46]], [[44, 46], [70, 55], [75, 76], [53, 92], [24, 85]]],
  [[[56, 8], [22, 62]], [[22, 62], [80, 61]], [[62, 38], [60, 93]]],
  [[[72, 10], [33, 10]], [[33, 10], [30, 46]], [[30, 46], [53, 40], [74, 57], [69, 82], [46, 92], [24, 85]]],
  [[[64, 8], [39, 28], [25, 60], [34, 89], [61, 90], [72, 71], [57, 55], [36, 60], [27, 72]]],
  [[[23, 11], [76, 10]], [[76, 10], [44, 92]], [[36, 52], [72, 51]]],
  [[[68, 21], [50, 8], [32, 19], [40, 40], [61, 57], [71, 77], [50, 92], [29, 77], [39, 57], [61, 40], [68, 21]]],
  [[[72, 27], [56, 9], [31, 17], [29, 40], [50, 50], [70, 34]], [[72, 27], [70, 62], [60, 92]]],
];

/** Returns a curve through the points (Catmull-Rom), without a corner if the last point is the first. */
function curve(points) {
  const path = [], last = points.length - 1, closed = points[0] === points[last];
  const point = (i) => points[closed ? (i + last) % last : Math.min(Math.max(i, 0), last)];
  for (let i = 0; i < last; i++) {
    const [a, b, c, d] = [point(i - 1), point(i), point(i + 1), point(i + 2)];
    for (let t = 0; t < 1; t += 0.125) {
      path.push(b.map((_, k) => b[k] + (t * (c[k] - a[k] + t * (2 * a[k] - 5 * b[k] + 4 * c[k] - d[k]
        + t * (3 * b[k] - a[k] - 3 * c[k] + d[k])))) / 2));
    }
  }
  return [...path, points[last]];
}

let playing = 0;

function stopSample() {
  cancelAnimationFrame(playing);
  playing = 0;
}

/** Draws a digit like a hand, a little different each time. */
function drawSample(digit) {
  clear();
  const near = (range) => (Math.random() - 0.5) * range;
  const slant = near(0.2), wide = 0.85 + near(0.3), moved = new Map();
  const move = ([x, y]) => {  // strokes that meet still meet
    if (!moved.has(`${x} ${y}`)) moved.set(`${x} ${y}`, [x + near(5), y + near(5)]);
    return moved.get(`${x} ${y}`);
  };
  const whole = SAMPLES[digit].map((stroke) => curve(stroke.map(move))
    .map(([x, y]) => [((x - 50) * wide - (y - 50) * slant + 50) / 100, y / 100]));
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let drawn = 0;
  const step = () => {
    drawn += calm ? Infinity : 2;
    let left = drawn;
    strokes = [];
    for (const stroke of whole) {
      if (left > 0) strokes.push(stroke.slice(0, left));
      left -= stroke.length;
    }
    paint();
    ask(left >= 0 ? "final" : "draft");
    playing = left >= 0 ? 0 : requestAnimationFrame(step);
  };
  step();
}

// ── Asking the model ───────────────────────────────────────────────────────────────────────────────────────────────
// Asks one question at a time, always about the latest drawing: a change meanwhile is asked after the answer.

const DRAFT_EVERY_MS = 80;
let asking = false;
let wanted = null;  // the next question: "draft" or "final"
let again = 0;  // the timer of the next question
let draftsFrom = 0, allFrom = 0;  // earliest times for the next draft, and for any question
const lanes = new Map();  // lane → number of its answers

function ask(kind) {
  wanted = kind === "final" || wanted === "final" ? "final" : "draft";
  plan();
}

function plan() {
  clearTimeout(again);
  if (asking || !wanted) return;
  const from = wanted === "final" ? allFrom : Math.max(allFrom, draftsFrom);
  again = setTimeout(question, Math.max(from - performance.now(), 0));
}

async function question() {
  const kind = wanted, about = drawing, pixels = pixelsOf(strokes), began = performance.now();
  asking = true;
  wanted = null;
  draftsFrom = began + DRAFT_EVERY_MS;
  try {
    const response = await fetch("predict", {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ pixels }),
    });
    const body = await response.json().catch(() => null);
    const facts = { ...factsOf(response), total: performance.now() - began };
    if (about !== drawing) return;
    if (response.ok && body) show({ ...body, ...facts, pixels, kind });
    else refused(response, body, kind);
  } catch {
    if (about === drawing) askAgain(kind, 2, "The gate does not answer. Is turnpike still running?");
  } finally {
    asking = false;
    plan();
  }
}

/** Returns which lane answered and how long it took, from Turnpike's headers. */
function factsOf(response) {
  const timing = response.headers.get("Server-Timing") || "";
  const duration = (name) => {
    const found = new RegExp(`(?:^|,)\\s*${name}\\s*;[^,]*?dur=([0-9.]+)`).exec(timing);
    return found ? Number(found[1]) : null;
  };
  return { lane: response.headers.get("Turnpike-Lane"), run: duration("run"), queue: duration("queue") };
}

/** Shows why the gate or the model refused. */
function refused(response, body, kind) {
  const why = body?.detail || body?.title || `The gate answered ${response.status}.`;
  const after = Math.min(Math.max(Number(response.headers.get("Retry-After")) || 2, 1), 30);
  if (response.status === 429) askAgain(kind, after, `The queue is full. ${why}`);
  else if (response.status === 503) askAgain(kind, after, `No lane can answer now. ${why}`);
  else say(why);
}

function askAgain(kind, seconds, why) {
  wanted = wanted || kind;
  allFrom = performance.now() + seconds * 1000;
  say(`${why} Asking again in ${seconds} s.`);
}

// ── Showing ────────────────────────────────────────────────────────────────────────────────────────────────────────

const bars = Array.from({ length: 10 }, (_, digit) => {
  const item = document.createElement("li"), track = document.createElement("span"), bar = document.createElement("span");
  track.className = "track";
  bar.className = "bar";
  track.append(bar);
  item.append(track, String(digit));
  $("scores").append(item);
  return { item, bar };
});

const percent = (share) => `${share > 0.995 && share < 1 ? (share * 100).toFixed(1) : Math.round(share * 100)} %`;
const milliseconds = (ms) => (ms === null || ms === undefined ? "–" : `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`);

/** Shows an answer, or nothing for null (an empty paper). */
function show(answer) {
  $("digit").textContent = answer ? answer.digit : "?";
  $("digit").classList.toggle("none", !answer);
  $("sure").textContent = answer ? sureness(answer) : "Nothing drawn yet.";
  bars.forEach(({ item, bar }, digit) => {
    const share = answer ? answer.scores[digit] : 0;
    bar.style.setProperty("--share", share.toFixed(4));
    item.classList.toggle("best", Boolean(answer) && digit === answer.digit);
    item.setAttribute("aria-label", `${digit}: ${percent(share)}`);
    item.title = percent(share);
  });
  $("lane").textContent = answer?.lane ? `lane ${answer.lane}` : "–";
  for (const name of ["run", "queue", "total"]) $(name).textContent = milliseconds(answer?.[name]);
  paintSeen(answer ? answer.pixels : new Array(64).fill(0));
  say("");
  if (answer) tally(answer);
  if (answer?.kind === "final") $("spoken").textContent = `${answer.digit}, ${percent(answer.confidence)} sure, lane ${answer.lane}`;
}

function sureness({ digit, confidence, scores }) {
  const second = scores.reduce((best, share, at) => (at !== digit && share > (scores[best] ?? -1) ? at : best), -1);
  return confidence > 0.85 ? `${percent(confidence)} sure` : `${percent(confidence)} sure; or is it a ${second}?`;
}

function tally({ lane }) {
  if (!lane) return;
  lanes.set(lane, (lanes.get(lane) || 0) + 1);
  const each = [...lanes].sort(([a], [b]) => a - b).map(([name, answers]) => `lane ${name}: ${answers}`);
  $("tally").textContent = `Answers so far: ${each.join(" · ")}`;
}

function paintSeen(pixels) {
  const context = $("seen").getContext("2d");
  context.clearRect(0, 0, 8, 8);
  context.fillStyle = getComputedStyle($("seen")).color;
  pixels.forEach((pixel, at) => {
    context.globalAlpha = pixel / 16;
    context.fillRect(at % 8, at >> 3, 1, 1);
  });
}

/** Shows what went wrong. An empty text hides the message. */
function say(text) {
  if (text && $("digit").classList.contains("none")) $("sure").textContent = "Not read yet.";
  $("trouble").textContent = text;
  $("trouble").hidden = !text;
}

// ── Buttons and keys ───────────────────────────────────────────────────────────────────────────────────────────────

$("clear").addEventListener("click", clear);
$("sample").addEventListener("click", () => drawSample(Math.floor(Math.random() * 10)));
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^[0-9]$/.test(event.key)) drawSample(Number(event.key));
  else if (["Escape", "Delete", "Backspace"].includes(event.key)) clear();
});
new ResizeObserver(paint).observe(paper);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  paint();
  paintSeen(strokes.length ? pixelsOf(strokes) : new Array(64).fill(0));
});
clear();
