// The film of a run: <rmqlab-film> holds the steps in words (<ol>) and their data (JSON); this shows them. The one
// source of notebooks, saved pages, the site and its playgrounds. It needs no kernel and no network.
(() => {
  if (customElements.get("rmqlab-film")) return;

  const CSS = `
:host { --ground: #fff; --text: #1a1a1a; --soft: #595959; --line: #c8c8c8; --pale: #f3f3f3; --good: #006d50; --bad: #b03a00;
  display: block; margin: .5rem 0 1rem; color: var(--text); font: 18px/1.35 system-ui, "Noto Sans CJK SC", sans-serif; container-type: inline-size; }
:host([data-dark]) { --ground: #16191d; --text: #f0f0f0; --soft: #b4b9bf; --line: #4a5058; --pale: #23282e; --good: #4cd3a6; --bad: #ff9d66; }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
p, ol, h3, h4 { margin: 0; }
.film { border: 1px solid var(--line); border-radius: 8px; background: var(--ground); padding: .7rem .8rem; max-width: 1200px; }
.film:focus-visible, button:focus-visible, input:focus-visible, select:focus-visible, summary:focus-visible { outline: 3px solid #56b4e9; outline-offset: 2px; }
.bar { display: flex; flex-wrap: wrap; gap: .4rem; align-items: center; font-size: 16px; }
.bar button, select { font: inherit; color: inherit; background: var(--pale); border: 1px solid var(--line); border-radius: 6px; padding: .35rem .65rem; min-height: 2.3rem; cursor: pointer; }
.bar button:disabled { opacity: .4; cursor: default; }
.bar .play { min-width: 6.2em; font-weight: 700; color: #fff; background: #0072b2; border-color: #0072b2; }
.bar input { flex: 1 1 9rem; min-width: 6rem; accent-color: #0072b2; }
.bar .count { font-variant-numeric: tabular-nums; white-space: nowrap; }
.says { min-height: 2.75em; margin: .5rem 0 .6rem; padding-left: .6rem; border-left: 5px solid var(--line); font-weight: 600; }
.says[data-look=bad] { border-color: var(--bad); } .says[data-look=good] { border-color: var(--good); } .says[data-look=slot] { border-color: #56b4e9; }
.says time { font-weight: 400; color: var(--soft); font-variant-numeric: tabular-nums; margin-right: .5em; }
.says .later { background: var(--pale); border-radius: 4px; padding: 0 .35em; }
.stage { display: grid; grid-template-columns: minmax(8.4rem, .8fr) minmax(17rem, 2.3fr) minmax(13rem, 1.9fr); gap: .6rem; align-items: start;
  min-height: 0; overflow: auto; scrollbar-width: thin; margin: -4px; padding: 4px; }
.sight { display: flex; flex-direction: column; max-height: max(28rem, 100vh - 187px); } /* below it the foot, above it JupyterLab's bars */
.stage[data-long] { grid-template-columns: minmax(8.4rem, .6fr) minmax(17rem, 2.8fr) minmax(13rem, 1.5fr); }
.part { border: 2px solid var(--line); border-radius: 8px; padding: .4rem .5rem; background: var(--ground); min-width: 0; }
.part[data-acts] { border-color: #56b4e9; box-shadow: 0 0 0 2px #56b4e9; }
.part h4, .members h4 { font-size: 18px; font-weight: 700; }
.members { display: grid; gap: .6rem; min-width: 0; }
.member[data-away] { border-style: dashed; background: var(--pale); }
.member[data-away] .reads { display: inline-block; border-radius: 5px; padding: .05em .5em; color: var(--ground); background: var(--soft); font-size: 18px; font-weight: 700; }
.member[data-away] .box { background: none; outline: 2px dashed var(--line); outline-offset: -2px; }
.member[data-away] .box > .label { color: var(--soft); font-weight: 400; }
.soft { color: var(--soft); font-size: 16px; font-weight: 400; }
.chip { display: inline-block; border-radius: 5px; padding: .05em .45em; font-weight: 700; border: 1px solid var(--line); overflow-wrap: anywhere; background: var(--pale); }
.slot { border: 3px dashed var(--line); border-radius: 8px; padding: .3rem .5rem; margin: .3rem 0 .4rem; }
.slot > .head { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline; gap: 0 .6rem; margin-bottom: .15rem; }
.chip[data-striped] span { background: #fff; color: #000; border-radius: 4px; padding: 0 .3em; }
.slot .chip { display: block; font-size: 22px; padding: .15em .6em; text-align: center; } .slot .chip[data-long] { font-size: 18px; line-height: 1.25; }
.queue { display: grid; grid-template-columns: 5.4em minmax(0, 1fr) auto; gap: .2rem .4rem; align-items: center; border-top: 1px solid var(--line); padding: .1rem 0; min-height: 3.1rem; } .stage[data-dense] .queue { min-height: 2.95rem; }
.queue .state { text-align: right; line-height: 1.2; }
.waiting { color: var(--text); background: var(--pale); border-radius: 4px; padding: 0 .3em; white-space: nowrap; }
.tokens { display: flex; flex-wrap: wrap; gap: .25rem; min-height: 2.9rem; align-items: center; min-width: 0; }
.producer .tokens { max-height: max(15rem, min(27rem, 100vh - 370px)); overflow: auto; scrollbar-width: thin; }
.box { margin-top: .3rem; border-radius: 6px; padding: .2rem .35rem; background: var(--pale); }
.box[data-look=bad] { outline: 2px solid var(--bad); outline-offset: -2px; } .box[data-look=good] { outline: 2px solid var(--good); outline-offset: -2px; }
.box > .label { font-size: 18px; line-height: 1.2; } .box[data-look=bad] > .label { color: var(--bad); font-weight: 700; } .box[data-look=good] > .label { color: var(--good); font-weight: 700; }
.token { font: inherit; line-height: 1.1; border: 2px solid transparent; border-radius: 6px; padding: .2rem .4rem; cursor: pointer; text-align: left; position: relative; max-width: 100%; overflow-wrap: anywhere; }
.token small { display: block; font-size: 18px; }
.stage[data-dense] .box { display: flex; flex-wrap: wrap; align-items: center; gap: .1rem .5rem; } .stage[data-dense] .queue .tokens { min-height: 2.7rem; } .stage[data-dense] .box .tokens { min-height: 0; }
.stage[data-dense] .token { padding: .1rem .35rem; } .stage[data-dense] .tokens { gap: .2rem; }
.token[data-now] { border-color: var(--text); box-shadow: 0 0 0 2px var(--ground), 0 0 0 4px var(--text); z-index: 2; }
.token[aria-pressed=true] { outline: 3px dotted var(--text); outline-offset: 3px; }
.foot { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1.5rem; margin-top: .6rem; font-size: 16px; } .foot > * { flex: 0 1 auto; min-width: 0; } .foot > details[open], .way:has(ol) { flex-basis: 100%; }
.way { margin: 0; } .way ol { margin: .2rem 0 0; padding-left: 1.5rem; }
details ol { padding-left: 2.4rem; } summary { cursor: pointer; min-height: 1.8rem; }
li[aria-current] { font-weight: 700; } details li { cursor: pointer; }
@media print { .sight { max-height: none; } }
@container (max-width: 46rem) {
  .sight { max-height: none; } .stage, .stage[data-long] { grid-template-columns: minmax(0, 1fr); overflow: visible; }
  .queue { grid-template-columns: 4.6em minmax(0, 1fr) auto; }
  .film { padding: .5rem; }
  .top { position: sticky; top: 0; z-index: 9; background: var(--ground); padding-bottom: .2rem; }
}
`;

  const el = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (typeof value === "function") made.addEventListener(key, value);
      else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return made;
  };
  const attribute = (element, name, on) => element.toggleAttribute(name, Boolean(on));
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const night = matchMedia("(prefers-color-scheme: dark)");
  const LONG = 30; // characters of an expression that take two lines or more
  const [MOST_BOXES, MOST_MESSAGES] = [5, 10]; // of all members; with more, an empty box is a line high
  const OF_BROKER = (name) => !["unsent", "waiting", "no_owner"].includes(name.split(":")[0]);

  class RmqlabFilm extends HTMLElement {
    connectedCallback() {
      if (this.shadowRoot) return this.lit();
      const begin = () => this.querySelector("script[type='application/json']") && this.open();
      if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin, { once: true });
      else begin();
    }

    disconnectedCallback() {
      this.pause();
      this.unlit();
    }

    // Another film in the same place: what `Film.data()` and `Film.steps()` gave.
    set film({ data, steps }) {
      this.pause();
      this.build(data, steps);
    }

    open() {
      this.build(JSON.parse(this.querySelector("script").textContent), [...this.querySelectorAll("li")].map((item) => item.textContent));
    }

    build(data, steps) {
      this.data = data;
      this.steps = steps;
      this.frames = whole(data.frames);
      this.chosen = null;
      this.playing = 0;
      this.toString = () => data.title;
      this.setAttribute("data-lm-suppress-shortcuts", "true"); // JupyterLab leaves the keys to the film
      const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
      root.replaceChildren(el("style", {}, CSS), this.drawn());
      this.lit();
      this.now = -1;
      this.go(this.hasAttribute("autoplay") ? 0 : this.frames.length - 1, { moves: false, silent: true });
      if (this.hasAttribute("autoplay") && !still.matches) this.onSight();
    }

    say(name, values = {}) {
      return this.data.words[name].replace(/\{(\w+)\}/g, (_, key) => values[key] ?? "");
    }

    // Nothing is watched before the film is lit; then this ends the watching.
    unlit() {}

    // The page's ground decides between light and dark, whoever made it so.
    lit() {
      const look = () => {
        let ground = this.parentElement;
        let colour = "rgba(0, 0, 0, 0)";
        while (ground && /, 0\)$|transparent/.test(colour)) {
          colour = getComputedStyle(ground).backgroundColor;
          ground = ground.parentElement;
        }
        const [r, g, b] = colour.match(/[\d.]+/g).map(Number);
        const none = /, 0\)$|transparent/.test(colour);
        const dark = none ? getComputedStyle(this).colorScheme.includes("dark") && night.matches : 0.2126 * r + 0.7152 * g + 0.0722 * b < 128;
        attribute(this, "data-dark", dark);
      };
      look();
      this.unlit();
      const changed = () => setTimeout(look, 50);
      this.themes = new MutationObserver(changed);
      for (const root of [document.documentElement, document.body]) this.themes.observe(root, { attributes: true });
      night.addEventListener("change", changed);
      this.unlit = () => (this.themes.disconnect(), night.removeEventListener("change", changed));
    }

    onSight() {
      const seen = new IntersectionObserver((entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        seen.disconnect();
        this.play();
      }, { threshold: 0.4 });
      seen.observe(this);
    }

    // What is there once: the bar, the stage, the words.

    drawn() {
      const { data } = this;
      const last = this.frames.length - 1;
      const button = (name, sign, to) => el("button", { type: "button", class: name, "aria-label": this.say(name), title: this.say(name), click: () => (this.pause(), this.go(to())) }, sign);
      this.parts = {
        play: el("button", { type: "button", class: "play", click: () => this.toggle() }),
        range: el("input", { type: "range", min: 0, max: last, step: 1, "aria-label": this.say("time"), input: () => (this.pause(), this.go(Number(this.parts.range.value), { moves: false })) }),
        count: el("span", { class: "count" }),
        says: el("p", { class: "says", role: "status", "aria-live": "polite" }),
        way: el("div", { class: "way", "aria-live": "polite" }, el("p", { class: "soft" }, this.say("hint"))),
        list: el("ol", { start: 0 }, this.steps.map((text, n) => el("li", { click: () => (this.pause(), this.go(n)) }, text))),
      };
      const speed = el("select", { "aria-label": this.say("speed"), title: this.say("speed"), change: (event) => (this.rate = Number(event.target.value)) },
        [0.5, 1, 2, 4].map((rate) => el("option", { value: rate, selected: rate === 1 }, `${rate}×`)));
      this.rate = 1;
      Object.assign(this.parts, {
        first: button("first", "«", () => 0), back: button("back", "‹", () => this.now - 1),
        next: button("next", "›", () => this.now + 1), last: button("last", "»", () => last),
      });
      const { first, back, play, next, last: end, range, count } = this.parts;
      const film = el("section", { class: "film", tabindex: 0, "aria-label": `${data.title}. ${this.say("keys")}`, lang: data.lang === "zh" ? "zh-CN" : "en" },
        el("div", { class: "sight" }, el("div", { class: "top" }, el("div", { class: "bar" }, play, first, back, next, end, range, count, speed), this.parts.says), this.stage()),
        el("div", { class: "foot" }, this.parts.way, el("details", {}, el("summary", {}, this.say("steps")), this.parts.list)));
      film.addEventListener("keydown", (event) => this.key(event));
      return film;
    }

    stage() {
      const { data } = this;
      this.boxes = new Map();
      const box = (name, ...extra) => {
        const [, label, , look] = data.boxes.find(([known]) => known === name) ?? [name, "", "", ""];
        const tokens = el("div", { class: "tokens" });
        this.boxes.set(name, tokens);
        return el("div", { class: "box", "data-look": look }, el("div", { class: "label" }, label), ...extra, tokens);
      };
      const used = (test) => data.boxes.map(([name]) => name).filter(test);
      const mine = (who) => used((name) => name.endsWith(`:${who}`) && !name.startsWith("waiting:") && !name.startsWith("no_owner:"));
      this.producer = el("div", { class: "part producer" }, el("h4", {}, this.say("producer")), used((name) => name.startsWith("unsent")).map((name) => box(name)));
      this.queues = Array.from({ length: data.queues }, (_, n) => {
        const tokens = el("div", { class: "tokens" });
        this.boxes.set(`waiting:${n}`, tokens);
        this.boxes.set(`no_owner:${n}`, tokens);
        const state = el("span", { class: "state" });
        return { row: el("div", { class: "queue" }, el("span", {}, this.say("queue", { queue: n })), tokens, state), state };
      });
      this.slotChip = el("span", { class: "chip" });
      this.slotBy = el("span", { class: "soft" });
      this.slotBox = el("div", { class: "slot" }, el("div", { class: "head" }, el("span", {}, data.line ? this.say("line") : this.say("slot")), this.slotBy), this.slotChip);
      this.broker = el("div", { class: "part broker" }, el("h4", {}, this.say("broker")), this.queues.map(({ row }) => row), this.slotBox,
        used((name) => OF_BROKER(name) && name.endsWith(":")).map((name) => box(name)));
      const order = ["let_through", "invisible", "delivered"];
      const rank = (name) => (order.indexOf(name.split(":")[0]) + 1 || 9);
      this.members = new Map(data.members.map((who) => {
        const asks = el("span", { class: "chip" });
        const says = el("span", { class: "soft" }, `${this.say("asks")} `);
        const reads = el("div", { class: "soft reads" });
        const part = el("div", { class: "part member" }, el("h4", {}, `${who} `, says, asks), reads, mine(who).sort((a, b) => rank(a) - rank(b)).map((name) => box(name)));
        return [who, { part, asks, reads, says }];
      }));
      this.tokens = data.messages.map(([body, tag, , , colour, ink, member], n) => el("button", {
        type: "button", class: "token", "aria-pressed": "false", style: `background:${colour};color:${ink}`, click: () => this.choose(n),
      }, el("span", { class: "mark" }), body, el("small", {}, `${tag ?? this.say("no_tag")}${member ? ` → ${member}` : ""}`)));
      const ofMembers = [...this.boxes.keys()].filter((name) => this.members.has(name.split(/:(.*)/s)[1])).length;
      const ofBroker = this.broker.querySelectorAll(".box").length;
      const long = Object.keys(data.colours).some((expression) => expression.length > LONG);
      const dense = long || ofMembers > MOST_BOXES || ofBroker > 1 || data.messages.length > MOST_MESSAGES;
      return (this.room = el("div", { class: "stage", "data-dense": dense, "data-long": long }, this.producer, this.broker,
        el("div", { class: "members" }, [...this.members.values()].map(({ part }) => part))));
    }

    // One frame.

    go(to, { moves = true, silent = false } = {}) {
      const now = Math.max(0, Math.min(this.frames.length - 1, to));
      if (now === this.now) return;
      const before = this.now;
      this.now = now;
      const frame = this.frames[now];
      const animated = moves && !still.matches && Math.abs(now - before) === 1;
      const were = animated ? new Map(this.tokens.map((token) => [token, token.getBoundingClientRect()])) : null;
      const focused = this.shadowRoot.activeElement;
      this.place(frame);
      if (focused?.classList.contains("token")) focused.focus({ preventScroll: true });
      this.state(frame);
      this.words(frame, before);
      this.follow(frame);
      if (animated) this.move(were, before < now);
      if (!this.playing && !silent) this.tell();
    }

    place(frame) {
      this.tokens.forEach((token, n) => {
        const [name, , mark] = this.data.boxes[frame.m[n]];
        const box = this.boxes.get(name);
        if (token.parentElement !== box) box.append(token);
        token.firstChild.textContent = mark ? `${mark} ` : "";
        attribute(token, "data-now", frame.c.includes(n));
        const [body, tag] = this.data.messages[n];
        token.setAttribute("aria-label", `${body}, ${tag ?? this.say("no_tag")}: ${this.where(n, name)}`);
      });
    }

    // A stage that is higher than its room is scrolled to what happens: messages, or the slot, or who acts.
    follow(frame) {
      if (this.room.scrollHeight <= this.room.clientHeight) return;
      const messages = frame.c.map((n) => this.tokens[n]);
      const actors = frame.h.map((who) => this.members.get(who)?.part).filter(Boolean);
      const acts = messages.length ? messages : frame.slotChanged ? [this.slotBox] : actors;
      if (!acts.length) return;
      const room = this.room.getBoundingClientRect();
      const sights = acts.map((part) => part.getBoundingClientRect());
      const above = Math.min(...sights.map(({ top }) => top)) - room.top - 12;
      const below = Math.max(...sights.map(({ bottom }) => bottom)) - room.bottom + 12;
      if (above < 0) this.room.scrollTop += above;
      else if (below > 0) this.room.scrollTop += Math.min(below, above);
    }

    where(n, name) {
      const [what, at] = name.split(/:(.*)/s);
      const label = this.data.boxes.find(([known]) => known === name)[1];
      if (what === "waiting") return this.say("queue", { queue: at });
      return at && this.members.has(at) ? `${at}, ${label}` : label;
    }

    coloured(chip, expression) {
      const [colour, ink] = this.data.colours[expression] ?? ["", ""];
      chip.style.background = colour;
      chip.style.color = ink;
      attribute(chip, "data-striped", colour && !ink); // no ink is read on all of its stripes: the words get a ground
      attribute(chip, "data-long", expression.length > LONG);
      chip.replaceChildren(el("span", {}, expression));
    }

    state(frame) {
      const { data } = this;
      attribute(this.producer, "data-acts", frame.h.includes("P"));
      attribute(this.broker, "data-acts", frame.h.includes("broker"));
      if (data.line) {
        this.coloured(this.slotChip, frame.l.length ? frame.l.join(", ") : this.say("nobody"));
      } else if (frame.s) {
        const [expression, who, version] = frame.s;
        const changed = this.slotChip.textContent !== expression;
        this.coloured(this.slotChip, expression);
        this.slotBy.textContent = this.say("by", { who, version });
        if (changed && !still.matches) this.slotBox.animate?.([{ transform: "scale(1.06)" }, { transform: "none" }], 400);
      } else {
        this.coloured(this.slotChip, this.say("empty"));
        this.slotBy.textContent = "";
      }
      const ends = Array(data.queues).fill(0);
      data.messages.forEach(([, , queue, offset], n) => {
        if (!data.boxes[frame.m[n]][0].startsWith("unsent")) ends[queue] = Math.max(ends[queue], offset + 1);
      });
      this.queues.forEach(({ state }, n) => {
        const waits = frame.w.filter(([, queue]) => queue === n).map(([who]) => el("span", { class: "waiting" }, this.say("waits", { who })));
        const offset = ends[n] ? el("div", {}, this.say("offset", { offset: frame.f[n] ?? 0, end: ends[n] })) : null;
        state.replaceChildren(...waits, ...[offset].filter(Boolean));
      });
      for (const [who, { part, asks, reads, says }] of this.members) {
        const running = who in frame.a;
        attribute(part, "data-away", !running);
        attribute(part, "data-acts", frame.h.includes(who));
        this.coloured(asks, frame.a[who] ?? "");
        asks.hidden = says.hidden = !running;
        const queues = frame.o[who]?.join(", ");
        reads.textContent = !running ? this.say("away") : data.line ? "" : who in frame.o ? (queues ? this.say("reads", { queues }) : this.say("none")) : "";
      }
    }

    words(frame, before) {
      const { says, range, count, first, back, next, last, list } = this.parts;
      const end = this.frames.length - 1;
      const [time, text] = this.steps[this.now].split(/: (.*)/s);
      const gap = before === this.now - 1 && this.frames[before] ? frame.t - this.frames[before].t : 0;
      const later = gap >= 1000 ? el("span", { class: "later" }, this.say("later", { gap: `${(gap / 1000).toFixed(gap < 10000 ? 1 : 0)} s` })) : null;
      says.replaceChildren(el("time", {}, time, later ? " " : "", later ?? ""), text);
      says.dataset.look = this.look(frame);
      range.value = this.now;
      range.setAttribute("aria-valuetext", `${this.say("step", { now: this.now, of: end })}: ${text}`);
      count.textContent = `${this.now} / ${end}`;
      first.disabled = back.disabled = this.now === 0;
      next.disabled = last.disabled = this.now === end;
      this.parts.play.textContent = this.playing ? `❚❚ ${this.say("pause")}` : `▶ ${this.say("play")}`;
      [...list.children].forEach((item, n) => (n === this.now ? item.setAttribute("aria-current", "step") : item.removeAttribute("aria-current")));
      this.way();
    }

    look(frame) {
      const looks = frame.c.map((n) => this.data.boxes[frame.m[n]][3]);
      return looks.includes("bad") ? "bad" : looks.includes("good") ? "good" : frame.slotChanged ? "slot" : "";
    }

    choose(n) {
      this.chosen = this.chosen === n ? null : n;
      this.tokens.forEach((token, at) => token.setAttribute("aria-pressed", String(at === this.chosen)));
      this.way();
    }

    way() {
      if (this.chosen === null) {
        this.parts.way.replaceChildren(el("p", { class: "soft" }, this.say("hint")));
        return;
      }
      const [body, tag] = this.data.messages[this.chosen];
      const steps = this.steps.filter((_, k) => k <= this.now && this.frames[k].c.includes(this.chosen));
      this.parts.way.replaceChildren(el("p", {}, el("strong", {}, this.say("way", { message: `${body} (${tag ?? this.say("no_tag")})` }))),
        steps.length ? el("ol", {}, steps.map((step) => el("li", {}, step))) : el("p", {}, this.say("unsent")));
    }

    // A message goes from where it was to where it is; from a queue by way of the slot, which looks at it.
    move(were, forward) {
      const slot = this.slotBox.getBoundingClientRect();
      for (const [token, was] of were) {
        const is = token.getBoundingClientRect();
        const [dx, dy] = [was.x - is.x, was.y - is.y];
        if (Math.abs(dx) + Math.abs(dy) < 2) continue;
        const from = { transform: `translate(${dx}px, ${dy}px)`, zIndex: 5 };
        const home = { transform: "none", zIndex: 5 };
        const n = this.tokens.indexOf(token);
        const wasIn = this.data.boxes[this.frames[this.now - (forward ? 1 : -1)].m[n]][0];
        const isIn = this.data.boxes[this.frames[this.now].m[n]][0];
        const checked = forward && wasIn.startsWith("waiting") && OF_BROKER(isIn);
        const via = { transform: `translate(${slot.x + slot.width / 2 - is.x - is.width / 2}px, ${slot.y + slot.height / 2 - is.y - is.height / 2}px)`, zIndex: 5 };
        token.animate(checked ? [from, { ...via, offset: 0.4 }, { ...via, offset: 0.65 }, home] : [from, home], { duration: (checked ? 1100 : 600) / this.rate, easing: "ease-in-out" });
      }
    }

    // Playing: as long for a step as its words take to read; what has just been seen goes faster.

    toggle() {
      if (this.playing) this.pause();
      else this.play();
    }

    play() {
      if (this.now >= this.frames.length - 1) this.go(0, { moves: false });
      this.playing = 1;
      this.words(this.frames[this.now], this.now);
      this.wait();
    }

    wait() {
      const frame = this.frames[this.now];
      const known = this.frames.slice(Math.max(0, this.now - 6), this.now).some((other) => other.k === frame.k);
      const read = 700 + 28 * this.steps[this.now].length * (this.data.lang === "zh" ? 2 : 1);
      this.timer = setTimeout(() => {
        if (this.now + 1 >= this.frames.length - 1) this.playing = 0;
        this.go(this.now + 1);
        if (this.playing) this.wait();
      }, (known ? Math.max(1300, read * 0.6) : read) / this.rate);
    }

    pause() {
      clearTimeout(this.timer);
      if (!this.playing) return;
      this.playing = 0;
      this.words(this.frames[this.now], this.now);
      this.tell();
    }

    // A page that keeps the step in its link listens to this.
    tell() {
      this.dispatchEvent(new CustomEvent("step", { detail: { now: this.now, last: this.frames.length - 1 } }));
    }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const target = event.composedPath()[0];
      const steps = { ArrowRight: this.now + 1, ArrowLeft: this.now - 1, Home: 0, End: this.frames.length - 1 };
      if (event.key === " " && !/^(BUTTON|SELECT|SUMMARY)$/.test(target.tagName)) this.toggle();
      else if (event.key in steps && target.tagName !== "SELECT") {
        this.pause();
        this.go(steps[event.key]);
      } else return;
      event.preventDefault();
      event.stopPropagation();
    }
  }

  // Each frame says what changed: here it says all.
  function whole(changes) {
    let before = { m: {}, a: {}, s: null, o: {}, w: [], l: [], f: {} };
    return changes.map((change) => {
      const frame = { ...before, ...change, m: { ...before.m, ...change.m } };
      frame.slotChanged = "s" in change;
      before = frame;
      return frame;
    });
  }

  customElements.define("rmqlab-film", RmqlabFilm);
})();
