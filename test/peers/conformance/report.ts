import type { Answer } from "./answer.ts";
import { differences, type Difference } from "./differences.ts";
import { table } from "./table.ts";

/** What two servers answered to one row. */
export interface Pair {
  readonly hub: Answer;
  readonly kubernetes: Answer;
}

function subjectOf(id: string): string {
  return id.slice(0, id.indexOf(": "));
}

/** The ids that a listed difference stands for. */
export function rowsOf({ rows }: Difference): readonly string[] {
  return rows.flatMap((row) => {
    const subjects = subjectOf(row);
    const what = row.slice(subjects.length + 2);
    if (!subjects.startsWith("*")) return [row];
    const others = new Set(subjects.split(" ").slice(2));
    return table.flatMap(({ id }) => (id === `${subjectOf(id)}: ${what}` && !others.has(subjectOf(id)) ? [id] : []));
  });
}

/** docs/conformance.md. */
export function report(answers: ReadonlyMap<string, Pair>): string {
  const differing = differences.flatMap(rowsOf).length;
  return [
    "# Beside kube-apiserver",
    "",
    "One table of requests is sent to the hub and to a real kube-apiserver, release 1.20.2: for every kind each verb, with",
    "objects that are right and with nearly everything that can be wrong about names, metadata, bodies, media types, patches,",
    "options, selectors, versions and paths. Status codes, reasons, messages, details and objects are compared. The table lies in",
    "`test/peers/conformance/`; `test/peers/conformance.test.ts` sends it, and writes this page (`npx vitest run -u` with that file).",
    "",
    `Of ${table.length} requests ${table.length - differing} have the same answer. Below are the other ${differing}, by the reason for which they differ. The hub`,
    "follows release 1.36 where the two releases differ. A test fails for a difference that is not listed, and for one that is gone.",
    "",
    "Not compared: uids, versions, times and managed fields; `kind` and `apiVersion` of the items of a list, which the hub sends and",
    "kube-apiserver leaves out of lists of built-in kinds; the label `kubernetes.io/metadata.name` and other fields that only one of",
    "the two releases sets (priority and tolerations of pods, taints and `daemonEndpoints` of nodes); who asked for a certificate;",
    "descriptions of columns; fields that are null or empty.",
    "",
    ...differences.flatMap((difference) => section(difference, answers)),
  ].join("\n");
}

function section(difference: Difference, answers: ReadonlyMap<string, Pair>): readonly string[] {
  return [
    `## ${difference.why}`,
    "",
    "| request | kube-apiserver 1.20.2 | hub |",
    "|---|---|---|",
    ...difference.rows.map((row) => {
      const [first = ""] = rowsOf({ ...difference, rows: [row] });
      const pair = answers.get(first);
      return `| ${cell(row)} | ${said(pair?.kubernetes)} | ${said(pair?.hub)} |`;
    }),
    "",
  ];
}

const longest = 160;

/** The answer in one line; where it is about several rows, that of the first. */
function said(answer: Answer | undefined): string {
  if (answer === undefined) return "";
  const { code, body } = answer;
  const {
    kind = "",
    reason = "",
    message,
  } = (typeof body === "object" ? body : {}) as Readonly<Record<string, string>>;
  if (message === undefined) return cell(`${code} ${kind}`.trim());
  const text = `${code} ${reason}: ${message}`.replaceAll(/\s+/g, " ");
  return cell(text.length > longest ? `${text.slice(0, longest)}…` : text);
}

function cell(text: string): string {
  return text.replaceAll(/[|<>*\\`]/g, (character) => `\\${character}`);
}
