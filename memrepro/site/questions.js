// The question browser. Everything that data sets say is set as text, never as markup.
"use strict";

(() => {
  const AT_ONCE = 30;
  const { load, make } = memrepro;
  const bodies = {}; // of methods, by their keys
  let data = null; // the data set's index
  let base = "";
  let graphs = {};
  let matching = [];
  const form = document.getElementById("choose");
  const list = document.getElementById("list");
  const status = document.getElementById("status");
  const more = document.getElementById("more");

  const method = (key) => data.methods.find((one) => one.key === key);
  const answers = (key) => bodies[`${base}/${key}`];
  const fetchMethod = async (key) => {
    const body = await load(`${base}/${key}`);
    if (bodies[`${base}/${key}`]) return;
    // Each score is kept as what it is less than the one before.
    const scores = body.scores.map((steps) => {
      let last = 0;
      return steps.map((step) => (last -= step));
    });
    bodies[`${base}/${key}`] = { ...body, scores };
  };
  const chosen = () => [form.a.value, form.b.value].filter(Boolean);
  const cutoff = () => Number(form.k.value);

  // The ranks of a question's gold: doc → [rank or 0, score]; a method lists them in this order.
  const ranks = (key, at) => {
    const golden = [...new Set((data.gold[method(key).level]?.[at] ?? []).flat())];
    return new Map(golden.map((doc, i) => [doc, answers(key).gold[at][i] || [0, 0]]));
  };

  // All its parts found by k; a part with alternatives is found by any of them.
  const succeeds = (key, at) => {
    const parts = data.gold[method(key).level]?.[at] ?? [];
    if (!parts.length) return null;
    const of = ranks(key, at);
    return parts.every((part) =>
      part.some((doc) => of.get(doc)[0] > 0 && of.get(doc)[0] <= cutoff()));
  };

  const options = (select, pairs, keep) => {
    const before = keep ?? select.value;
    select.replaceChildren(...pairs.map(([value, text]) => {
      const option = make("option", { value }, text);
      return option;
    }));
    if (pairs.some(([value]) => value === before)) select.value = before;
  };

  const outcome = (at) => {
    const [a, b] = chosen().map((key) => succeeds(key, at));
    if (a === null) return "unlabelled";
    if (b === undefined || b === null) return a ? "found" : "missed";
    return a && b ? "both" : a ? "a" : b ? "b" : "neither";
  };

  const matches = (at) => {
    const [id, kind, , text] = data.questions[at];
    const words = form.words.value.trim().toLocaleLowerCase();
    if (form.kind.value !== "" && kind !== Number(form.kind.value)) return false;
    if (words && !`${id} ${text}`.toLocaleLowerCase().includes(words)) return false;
    return !form.outcome.value || outcome(at) === form.outcome.value;
  };

  const OUTCOMES = {
    found: "all gold found", missed: "gold missed", both: "both find all gold",
    a: "only A finds all gold", b: "only B finds all gold", neither: "neither finds all gold",
    unlabelled: "no gold at this level",
  };
  const SHAPES = { true: "●", false: "✕", null: "–" };

  const badge = (key, at, letter) => {
    const one = succeeds(key, at);
    const said = one === null ? "no gold" : one ? "found" : "missed";
    const node = make("span", { class: `mark ${one === null ? "plain" : one ? "exact" : "not"}` });
    node.append(make("span", { class: "shape", "aria-hidden": "true" }, SHAPES[String(one)]));
    node.append(` ${letter} ${said}`);
    return node;
  };

  const number = (score) => (score / data.scale).toFixed(4);

  const sessionOf = (at, doc) => data.held[data.questions[at][2]]?.[data.sessions[doc]];

  const spoken = async (at, doc, level) => {
    const place = sessionOf(at, doc);
    if (!place) return null;
    const id = data.docs[doc].split("#")[0];
    const turns = (await load(`${base}/t${place[0]}`))[place[1]];
    const own = turns.filter(([round, turn]) => round === id || turn === id);
    return (level === "session" || !own.length ? turns : own).map(([, , field, text]) => [field, text]);
  };

  const textOf = (at, doc, level) => {
    if (!sessionOf(at, doc)) return null;
    const box = make("details", { class: "said" }, make("summary", {}, "text"));
    box.addEventListener("toggle", async () => {
      if (!box.open || box.dataset.filled) return;
      box.dataset.filled = "yes";
      for (const [field, text] of (await spoken(at, doc, level)) ?? []) {
        box.append(make("p", { dir: "auto" }, make("b", { dir: "ltr" }, `${field}: `), text));
      }
    });
    return box;
  };

  const named = (at, doc) => {
    const time = data.times[data.questions[at][2]]?.[data.sessions[doc]];
    return make("span", { class: "doc" }, make("code", {}, data.docs[doc]),
      time ? make("span", { class: "n" }, ` ${time.replace("T", " ")}`) : null);
  };

  const goldLine = (key, at, doc, [rank, score]) => {
    const { scores, deep } = answers(key);
    const k = cutoff();
    const last = scores[at][Math.min(k, scores[at].length) - 1];
    const line = make("li", { class: rank && rank <= k ? "in" : "out" });
    line.append(named(at, doc), " ");
    if (rank && rank <= k) {
      line.append(make("b", {}, `rank ${rank}`), `, score ${number(score)}`);
    } else if (rank) {
      line.append(make("b", {}, `missed: rank ${rank}`),
        `, score ${number(score)}, ${number(last - score)} below that of rank ${k}`);
    } else {
      line.append(make("b", {}, "missed"), `: not among the ${deep[at]} docs returned`);
      const shown = scores[at].length;
      if (shown) line.append(`; rank ${Math.min(k, shown)} has ${number(scores[at][Math.min(k, shown) - 1])}`);
    }
    const text = textOf(at, doc, method(key).level);
    if (text) line.append(text);
    return line;
  };

  const topLine = (key, at, place, gold, rounds) => {
    const { top, scores } = answers(key);
    const doc = top[at][place];
    const line = make("li", { class: gold.has(doc) ? "gold" : "" });
    line.append(make("span", { class: "rank" }, `${place + 1}. `), named(at, doc), ` ${number(scores[at][place])}`);
    if (gold.has(doc)) line.append(make("span", { class: "mark exact" }, " ★ gold"));
    if (rounds?.[place] !== undefined) line.append(make("span", { class: "n" }, ` round ${rounds[place]}`));
    const text = textOf(at, doc, method(key).level);
    if (text) line.append(text);
    return line;
  };

  const pathOf = (trail) => {
    if (!trail?.length) return null;
    const [[path, mean, entropy, rounds], searches] = trail;
    const box = make("div", { class: "path" });
    box.append(make("p", {}, make("b", {}, "The path to the answer: "), `${path}. Mean of the probe's scores ${mean}, entropy ${entropy}`,
      rounds ? `, ${rounds} round${rounds === 1 ? "" : "s"} of recollection.` : "."));
    const by = new Map();
    for (const [round, drift, docs] of searches) by.set(round, [...(by.get(round) ?? []), [drift, docs]]);
    if (by.size > 1) {
      const steps = make("ol", { start: "0" });
      for (const [, made] of [...by].sort(([a], [b]) => a - b)) {
        steps.append(make("li", {}, `${made.length} search${made.length === 1 ? "" : "es"}; similarity of each query to the question `
          + `${made.map(([drift]) => drift.toFixed(3)).join(", ")}; docs found ${made.map(([, docs]) => docs).join(", ")}`));
      }
      box.append(make("details", {}, make("summary", {}, "its searches, round by round"), steps));
    }
    return box;
  };

  const column = (key, at, letter) => {
    const one = method(key);
    const box = make("section", { class: "answer" });
    box.append(make("h3", {}, `${letter}: ${one.label}`));
    const of = ranks(key, at);
    const trail = answers(key).trail?.[at];
    const path = pathOf(trail);
    if (path) box.append(path);
    if (of.size) {
      box.append(make("h4", {}, `Gold, at k = ${cutoff()}`));
      box.append(make("ul", { class: "golds" }, ...[...of].map(([doc, where]) => goldLine(key, at, doc, where))));
    }
    box.append(make("h4", {}, `First ${answers(key).top[at].length} by rank`));
    box.append(make("ul", { class: "top" }, ...answers(key).top[at].map((_, place) => topLine(key, at, place, of, trail?.[2]))));
    return box;
  };

  const describe = (at) => {
    const [id, kind, memory, text, asked] = data.questions[at];
    const box = make("details", { class: "question" });
    const head = make("summary", {}, make("code", {}, id), " ", make("span", { class: "kind" }, data.kinds[kind]), " ");
    chosen().forEach((key, i) => head.append(badge(key, at, "AB"[i]), " "));
    if (text) head.append(make("span", { class: "asked", dir: "auto" }, text));
    box.append(head);
    box.addEventListener("toggle", () => {
      if (!box.open || box.dataset.filled) return;
      box.dataset.filled = "yes";
      if (memory) box.append(make("p", { class: "n" }, `Memory ${memory}${asked ? `, asked ${asked.replace("T", " ")}` : ""}.`));
      const why = data.left_out[form.level.value]?.[id];
      if (why) box.append(make("p", {}, `No table counts this question: ${why}.`));
      for (const graph of graphs[`${data.profile}/${data.dataset}/${id}`] ?? []) {
        box.append(make("p", {}, make("a", { href: graph }, "The subgraph for this question, drawn")));
      }
      box.append(make("div", { class: "pair" }, ...chosen().map((key, i) => column(key, at, "AB"[i]))));
    });
    return box;
  };

  const extend = () => {
    const start = list.children.length;
    for (const at of matching.slice(start, start + AT_ONCE)) list.append(make("li", {}, describe(at)));
    more.hidden = list.children.length >= matching.length;
    more.textContent = `Show more (${matching.length - list.children.length} left)`;
  };

  const remember = () => {
    const state = new URLSearchParams();
    for (const name of ["dataset", "level", "kind", "a", "b", "k", "outcome", "words"]) {
      if (form.elements[name].value) state.set(name, form.elements[name].value);
    }
    history.replaceState(null, "", `#${state}`);
  };

  const search = () => {
    matching = data.questions.map((_, at) => at).filter(matches);
    list.replaceChildren();
    const per = {};
    matching.forEach((at) => { per[outcome(at)] = (per[outcome(at)] ?? 0) + 1; });
    const counted = Object.entries(per).map(([name, n]) => `${n} ${OUTCOMES[name]}`).join(", ");
    status.textContent = `${matching.length} of ${data.questions.length} questions${counted ? `: ${counted}` : ""}.`;
    extend();
    remember();
  };

  const wanting = (wanted = {}) => {
    const at = form.level.value;
    const offered = data.methods.filter((one) => one.level === at);
    const pairs = offered.map((one) => [one.key, one.label + (one.encoder ? ` (${one.encoder})` : "")]);
    options(form.a, pairs, wanted.a);
    options(form.b, [["", "none"], ...pairs], wanted.b);
  };

  const fetchMethods = async (wanted) => {
    await Promise.all(chosen().map(fetchMethod));
    options(form.k, [[5, "5"], [10, "10"]].filter(([k]) => chosen().every((key) => method(key).depth >= k)).map(([k, t]) => [String(k), t]),
      wanted?.k || form.k.value || "10");
    const two = chosen().length > 1;
    const kinds = two ? ["both", "a", "b", "neither"] : ["found", "missed"];
    options(form.outcome, [["", "any"], ...[...kinds, "unlabelled"].map((name) => [name, OUTCOMES[name]])], wanted?.outcome);
    search();
  };

  const open = async (wanted = {}) => {
    status.textContent = "Loading…";
    base = form.elements.dataset.value;
    [data, graphs] = await Promise.all([load(`${base}/index`), load("data/graphs")]);
    options(form.level, data.levels.map((level) => [level, level]), wanted.level);
    options(form.kind, [["", "all types"], ...data.kinds.map((kind, i) => [String(i), kind])], wanted.kind ?? "");
    form.words.value = wanted.words ?? "";
    document.getElementById("no-texts").hidden = Object.keys(data.held).length > 0;
    wanting(wanted);
    await fetchMethods(wanted);
  };

  const say = (error) => { status.textContent = error.message; };
  const openAddress = () => {
    const wanted = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
    if ([...form.elements.dataset.options].some((o) => o.value === wanted.dataset)) form.elements.dataset.value = wanted.dataset;
    open(wanted).catch(say);
  };
  const start = () => {
    if (!form.elements.dataset.options.length) return;
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.elements.dataset.addEventListener("change", () => open().catch(say));
    form.level.addEventListener("change", () => { wanting(); fetchMethods().catch(say); });
    for (const name of ["a", "b"]) form.elements[name].addEventListener("change", () => fetchMethods().catch(say));
    for (const name of ["kind", "k", "outcome"]) form.elements[name].addEventListener("change", search);
    form.words.addEventListener("input", search);
    more.addEventListener("click", () => {
      const next = list.children.length;
      extend();
      list.children[next]?.querySelector("summary").focus();
    });
    window.addEventListener("hashchange", () => { if (location.hash.includes("=")) openAddress(); });
    openAddress();
  };

  window.addEventListener("DOMContentLoaded", start);
})();
