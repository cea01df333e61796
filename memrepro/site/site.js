// What every page does: open all disclosures in print, and sort and filter the leaderboard.
"use strict";

window.addEventListener("beforeprint", () => {
  for (const one of document.querySelectorAll("details:not([open])")) {
    one.open = true;
    one.dataset.printed = "yes";
  }
});
window.addEventListener("afterprint", () => {
  for (const one of document.querySelectorAll("details[data-printed]")) {
    one.open = false;
    delete one.dataset.printed;
  }
});

// What stands behind the # of the address; nothing where a % of it is malformed.
function addressed() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

// A link to something inside a closed disclosure opens it.
function openTarget() {
  const id = addressed();
  const target = id && document.getElementById(id);
  for (let at = target; at; at = at.parentElement) {
    if (at.tagName === "DETAILS") at.open = true;
  }
  if (target) target.scrollIntoView();
}
window.addEventListener("hashchange", openTarget);
if (location.hash) openTarget();

function sortBy(table, button) {
  const head = button.closest("th");
  const column = [...head.parentElement.children].indexOf(head);
  const rising = head.getAttribute("aria-sort") === "descending";
  for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", rising ? "ascending" : "descending");
  const value = (row) => row.children[column].dataset.value ?? row.children[column].textContent;
  const compared = (a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === "" || y === "") return (x === "") - (y === ""); // what was not run stands last
    const order = button.dataset.as === "number" ? x - y : x.localeCompare(y, "en");
    return rising ? order : -order;
  };
  const body = table.tBodies[0];
  const rows = [...body.rows].sort(compared);
  body.append(...rows);
}

function filterRows(table, form, status) {
  const asked = Object.fromEntries([...new FormData(form)].filter(([, value]) => value));
  const { words = "", ...wanted } = asked;
  const parts = words.toLowerCase().split(/\s+/);
  let shown = 0;
  for (const row of table.tBodies[0].rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = Object.keys(wanted).some((name) => row.dataset[name] !== wanted[name]) ||
      !parts.every((part) => text.includes(part));
    shown += !row.hidden;
  }
  status.textContent = `${shown} of ${table.tBodies[0].rows.length} lines`;
  history.replaceState(null, "", `#${new URLSearchParams(asked)}`);
}

const board = document.getElementById("leaderboard");
if (board) {
  const form = document.getElementById("filters");
  const status = document.getElementById("shown");
  const fromAddress = () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    for (const one of form.querySelectorAll("[name]")) one.value = asked.get(one.name) ?? "";
    filterRows(board, form, status);
  };
  window.addEventListener("hashchange", () => { if (location.hash.includes("=")) fromAddress(); });
  for (const button of board.querySelectorAll("th button")) {
    button.addEventListener("click", () => sortBy(board, button));
  }
  form.addEventListener("input", () => filterRows(board, form, status));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => filterRows(board, form, status)));
  form.hidden = false;
  fromAddress();
}
