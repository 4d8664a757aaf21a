// What the demos print: who acts, the command line, its output, and what was checked, in lines that fit the terminal.
// By its module, since a Node that is too old has no such name and must get as far as the check of demo.mjs.
import * as util from "node:util";

const width = Math.min(Math.max(process.stdout.columns ?? 120, 60), 120);
const nameWidth = 11;
const textWidth = width - nameWidth - 5;
/** Of the output of one command so many lines are shown, and the last one; of few more, all. */
const maxLines = 12;
const fewMore = 8;

/** Prints for a demo whose files are in `folder`. Paths, digests and names are shortened; commands run with them in full. */
export function openScreen(folder) {
  const colour = process.stdout.isTTY === true && (process.env.NO_COLOR ?? "") === "" && process.env.TERM !== "dumb";
  const style = (format, text) => (colour && format !== undefined ? util.styleText(format, text) : text);
  const print = (text) => process.stdout.write(`${text}\n`);

  const shortened = (text) =>
    text
      .replaceAll(`${folder}/`, "")
      .replaceAll(/(SHA|sha)256:([\w+/]{8})[\w+/]{35,}/g, "$1256:$2…")
      .replaceAll(/(node-csr-[\w-]{6})[\w-]{37}/g, "$1…")
      .replaceAll(/[\w+/=-]{100,}/g, (long) => `${long.slice(0, 20)}…`)
      .replace(/^\S+Z +(INFO|WARN|ERROR) +/, "")
      .replace(/ (?:\w+=\S+ ){3,}.*$/, "");

  function tell(name, mark, text, format) {
    const lines = wrapped(shortened(text), textWidth);
    for (const [at, line] of lines.entries()) {
      const left = at === 0 ? `${name.padEnd(nameWidth)} ${mark}` : `${"".padEnd(nameWidth)} │  `;
      print(`  ${style("dim", left)} ${style(format, line)}`.trimEnd());
    }
  }

  /** Shows the output of one command; the rows of a table are kept until it ends, and set as narrow as they can be. */
  function output(name, isLimited) {
    const rows = [];
    const held = [];
    let shown = 0;
    const show = (line) => {
      if (!isLimited || shown < maxLines) shown += 1;
      else return held.push(line);
      tell(name, "│", line);
    };
    const flush = () => table(rows.splice(0), shortened).forEach(show);
    return {
      line(line) {
        if (rows.length === 0 ? tableHead.test(line) : isRow(rows[0], line)) return void rows.push(line);
        flush();
        show(line);
      },
      end() {
        flush();
        const skipped = held.length > fewMore ? held.splice(0, held.length - 1).length : 0;
        if (skipped > 0) tell(name, "│", `… ${skipped} more lines`, "dim");
        for (const line of held) tell(name, "│", line);
      },
    };
  }

  return {
    output,
    heading: (text) => print(`\n${style("bold", text)}`),
    text: (text) => wrapped(text, width).forEach(print),
    command: (name, text) => tell(name, "$", text, "cyan"),
    say: (name, text) => tell(name, "│", text),
    showFile(name, path, text) {
      tell(name, "$", `cat ${path}`, "cyan");
      for (const line of text.trim().split("\n")) tell(name, "│", line);
    },
    proven: (text) => tell("", style("green", "✓"), text),
    failed: (text) => print(`\n${style("red", "✗")} ${shortened(text)}`),
  };
}

/** `text` in lines of at most so many characters, broken at single blanks. */
function wrapped(text, room) {
  const lines = [];
  for (const word of text.split(/(?<=\S) (?=\S)/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= room) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

const tableHead = /^ *[A-Z][A-Z ]*\S {2,}[A-Z]/;

/** The columns of a table, each from its name on; what stands before the first one, such as a mark, belongs to it. */
const columnsOf = (head) =>
  [...head.matchAll(/\S+(?: \S+)*/g)].map(({ 0: name, index }, at) => ({ name, begin: at === 0 ? 0 : index }));

const isRow = (head, line) =>
  line !== "" && columnsOf(head).every(({ begin }) => line.slice(Math.max(begin - 2, 0), begin).trim() === "");

/** A table as narrow as its cells; where that is too wide, a list for each row, or of many rows shortened cells. */
function table([head = "", ...rows], shortened) {
  const columns = columnsOf(head);
  const names = columns.map(({ name }) => name);
  const cellsOf = (row) => columns.map(({ begin }, at) => shortened(row.slice(begin, columns[at + 1]?.begin).trim()));
  const cells = rows.map(cellsOf);
  const widths = names.map((name, at) => Math.max(name.length, ...cells.map((row) => row[at].length)));
  const isWide = () => widths.reduce((sum, one) => sum + one + 2, -2) > textWidth;
  if (isWide() && rows.length <= 3) {
    const longest = Math.max(...names.map((name) => name.length));
    const list = (row) => row.map((cell, at) => `${at === 0 ? "▪" : " "} ${names[at].padEnd(longest)}  ${cell}`);
    return cells.flatMap(list);
  }
  while (isWide()) widths[widths.indexOf(Math.max(...widths))] -= 1;
  const fitted = (cell, width) => (cell.length > width ? `${cell.slice(0, width - 1)}…` : cell.padEnd(width));
  return rows.length === 0
    ? []
    : [names, ...cells].map((row) => row.map((cell, at) => fitted(cell, widths[at])).join("  "));
}
