// The provenance of one number. Everything that data say is set as text, never as markup.
"use strict";

(() => {
  const { load, make } = memrepro;
  const page = document.getElementById("number");
  const status = document.getElementById("status");
  const HEADS = { reported: "printed", printed: "where it is printed", term: "what decided", from: "where it comes from", files: "other tables" };
  const titled = (key) => HEADS[key] ?? String(key).replaceAll("_", " ");
  const nothing = (value) => value === null || value === undefined || value === "" ||
    (typeof value === "object" && !(value instanceof Node) && !Object.keys(value).length);
  const scroll = (table) => make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "rows" }, table);

  const rowsOf = (rows) => {
    const columns = Object.keys(rows[0]);
    const table = make("table", {},
      make("thead", {}, make("tr", {}, ...columns.map((one) => make("th", { scope: "col" }, titled(one))))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...columns.map((one) => make("td", {}, shown(row[one])))))));
    return scroll(table);
  };

  // Any value of JSON: an object as a list of terms, a list of small objects as a table.
  const shown = (value) => {
    if (value instanceof Node) return value;
    if (nothing(value)) return make("span", { class: "n" }, "none");
    if (typeof value !== "object") return document.createTextNode(String(value));
    if (Array.isArray(value)) {
      const flat = value.every((one) => one && typeof one === "object" && !Array.isArray(one) && !(one instanceof Node));
      if (flat && Object.keys(value[0]).length <= 8) return rowsOf(value);
      return make("ul", {}, ...value.map((one) => make("li", {}, shown(one))));
    }
    return terms(Object.entries(value));
  };
  const terms = (pairs) => make("dl", {}, ...pairs.filter(([, value]) => !nothing(value))
    .flatMap(([key, value]) => [make("dt", {}, titled(key)), make("dd", {}, shown(value))]));
  const folded = (title, value) => make("details", {}, make("summary", {}, title), shown(value));
  const code = (text) => make("code", {}, text);

  const placeOf = (shared, { run, questions, exclusions, ...place }) => ({
    run, ...place, ...shared.runs[run],
    questions_left_out: shared.exclusions[exclusions],
    each_question: questions && make("a", { href: questions }, "every question of this run, with its gold and ranks"),
  });

  const hashesOf = (shared, stages) => {
    const groups = {};
    for (const name of stages) {
      for (const [group, files] of Object.entries(shared.stages[name].hashes)) {
        groups[group] = { ...groups[group], ...files };
      }
    }
    return groups;
  };

  const listed = (table) => make("ul", {}, ...table.cells.map((one, at) => make("li", {},
    make("a", { href: `#${place()}/${at}` }, `${one.row}, ${one.column}: ${one.reproduced}`))));
  const head = (table) => {
    document.getElementById("title").textContent = `${table.title}, ${table.document}`;
    return make("p", { class: "profile" }, `Profile ${table.profile} · `, make("a", { href: table.back }, "back to the document"));
  };

  const write = (table, shared, anchor) => {
    const { row, column, reproduced, verdict = "", places = [], files = [], stages = [], command, ...rest } = table.cells[anchor];
    const { most_influential: most, rival, ...simple } = rest;
    const here = make("span", {}, make("b", {}, reproduced), ` ${verdict}`);
    const name = `${table.name}:'${row}':'${column}'`;
    const encoders = [...new Set(places.map(({ run }) => shared.runs[run].encoder))].filter(Boolean);
    page.replaceChildren(
      head(table),
      make("section", { class: "number", id: "shown" },
        make("h2", {}, `${row}, ${column}`),
        terms([["here", here], ...Object.entries(simple), ["files", files.map((one) => shared.files[one])]]),
        ...places.map((place) => make("section", {}, make("h3", {}, `Run ${place.run}`), shown(placeOf(shared, place)))),
        most ? folded("Most influential questions", most) : null,
        rival ? folded(`Compared with ${rival.row}`, rival) : null,
        make("h3", {}, "Made again by"),
        terms([["command", command && code(command)], ["the same in a terminal", code(`python -m memrepro why ${name}`)],
          ["table in dvc.lock", table.as_recorded]]),
        stages.length ? folded(`${stages.length} stages`, stages.map((one) => {
          const { hashes, ...told } = shared.stages[one];
          return told;
        })) : null,
        stages.length ? folded("Hashes (MD5 of dvc.lock)", hashesOf(shared, stages)) : null,
        encoders.length ? folded("Models (SHA-256)", encoders.map((one) => shared.models[one])) : null,
        folded("Environment", shared.environment)),
      folded(`All ${table.cells.length} computed numbers of this table`, listed(table)));
    status.textContent = "";
  };

  // The address is #profile/document/table/number; without the number it lists them.
  const asked = () => addressed().split("/");
  const place = () => asked().slice(0, 3).join("/");
  const start = async () => {
    const [profile, paper, table, anchor] = asked();
    if (!table || [profile, paper, table].some((part) => !/^\w[\w.-]*$/.test(part))) {
      status.textContent = "Choose a table at the end of a document's page: it links to its numbers' provenance.";
      return;
    }
    status.textContent = "Loading…";
    const folder = `data/${profile}/provenance/${paper}`;
    const [shared, own] = await Promise.all([load(folder), load(`${folder}/${table}`)]);
    if (anchor === undefined) {
      page.replaceChildren(head(own), listed(own));
      status.textContent = "Choose one of the computed numbers of this table.";
      return;
    }
    if (!own.cells[anchor]) throw new Error("This table has no such computed number.");
    write(own, shared, anchor);
  };
  const begin = () => start().catch((error) => { status.textContent = error.message; });
  window.addEventListener("hashchange", begin);
  window.addEventListener("DOMContentLoaded", begin);
})();
