import { authorizationReport } from "../../kits/authorization/report.ts";
import { agreement, nothingThere, readings } from "./agreement.ts";
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
  const read = [...answers.values()].flatMap(({ hub, kubernetes }) => [agreement(kubernetes, hub) ?? []]);
  const reworded = read.filter((one) => one.length > 0).length;
  return [
    "# Comparison with kube-apiserver",
    "",
    "This page lists where the hub's answers differ from those of a real kube-apiserver, release 1.36.3. The test sends both the table of",
    "requests in `test/peers/conformance/`, needs the programs of Kubernetes, and writes this page:",
    "",
    "```sh",
    "npx vitest run test/peers/conformance.test.ts --update",
    "```",
    "",
    "The table has, for every kind, each verb with valid objects and with nearly every fault in names, metadata, bodies, media types, patches,",
    "options, selectors, versions and paths. The test compares status codes, reasons, messages, details and objects.",
    "",
    `Of ${table.length} requests`,
    "",
    `- ${table.length - reworded - differing} have the same answer, byte for byte;`,
    `- ${reworded} agree in what the written contract of the API says of them, and use other words ([below](#wording));`,
    `- ${differing} differ ([below](#differences)).`,
    "",
    "The test fails for a difference that is not listed, and for one that no longer exists.",
    "",
    "It does not compare uids, versions, times and managed fields; `kind` and `apiVersion` of the items of a list, which the hub sends and",
    "kube-apiserver leaves out of lists of built-in kinds; fields that plugins of kube-apiserver set (priority and tolerations of pods, taints and `daemonEndpoints` of nodes); the requester of a certificate, and",
    "the source address; descriptions of columns; fields that are null or empty.",
    "",
    "## Wording",
    "",
    "What the contract says (sections of its page on the machinery of the API), and how kube-apiserver words it. Such answers count as the same.",
    "",
    "| requests | what |",
    "|---|---|",
    ...[...readings.map(({ what }) => what), nothingThere]
      .map((what) => ({ what, count: read.filter((one) => one.includes(what)).length }))
      .toSorted((a, b) => b.count - a.count)
      .map(({ what, count }) => `| ${count} | ${what} |`),
    "",
    "## Differences",
    "",
    "By reason, the largest group first, with two examples each: the answer of kube-apiserver 1.36.3, then that of the hub.",
    "",
    ...differences
      .map((difference) => ({ difference, count: rowsOf(difference).length }))
      .toSorted((a, b) => b.count - a.count)
      .flatMap(({ difference, count }) => group(difference, count, answers)),
    ...otherComparisons,
    ...authorizationReport(),
  ].join("\n");
}

/** What `test/peers/api-current.test.ts` compares. */
const otherComparisons: readonly string[] = [
  "## Other comparisons",
  "",
  "`test/peers/api-current.test.ts` compares strict decoding of YAML and JSON, health endpoints, APIServices",
  "and their discovery, refused tables, and `status.typeChecking` of ValidatingAdmissionPolicies. The answers are the same, except for this:",
  "",
  "| what | why |",
  "|---|---|",
  "| YAML with aliases, keys that are not text, or several documents | The hub refuses it, since readers of such YAML differ; kube-apiserver expands aliases, and reads the first document. |",
  "| more than a hundred keys that occur twice in YAML | The hub names a hundred, as both do for JSON; kube-apiserver names all. |",
  "| JSON with an object twice | The hub takes the later one; kube-apiserver decodes both into one, so that keys of the first remain. The refusal and the warnings are the same. |",
  "| a refused patch | The hub quotes the patch, kube-apiserver the patched object, also to users who may patch but not read it. |",
  "| health checks | The hub has those of kube-apiserver that apply to it, and [its own](running.md#health); its store is `etcd`. It answers GET and HEAD alone. |",
  "| writes of APIServices | The hub aggregates no other API servers: APIServices are read-only (405), also in discovery. |",
  "| order of groups in discovery | The hub sorts groups by name, kube-apiserver by priority. |",
  "| names of types in `status.typeChecking` | kube-apiserver adds a random number to the name of a kind (`Pod341146507`); the hub adds none. |",
  "| `authorizer.requestResource` | The type check of kube-apiserver warns of it, although it works; that of the hub does not. |",
  "| length of `status.typeChecking` | The hub keeps 128 KiB of warnings; kube-apiserver has no limit. |",
  "| manager of `status.typeChecking` | The hub updates the status under the account of its controller; kube-controller-manager applies it as `validatingadmissionpolicy-status`. |",
  "",
];

function group(difference: Difference, count: number, answers: ReadonlyMap<string, Pair>): readonly string[] {
  const examples = difference.rows.slice(0, 2).map((row) => {
    const [first = ""] = rowsOf({ ...difference, rows: [row] });
    const pair = answers.get(first);
    return `- ${first}: \`${said(pair?.kubernetes)}\`, \`${said(pair?.hub)}\``;
  });
  return [`**${count}.** ${difference.why}`, "", ...examples, ""];
}

const maxCharacters = 160;

/** The answer in one line. */
function said(answer: Answer | undefined): string {
  if (answer === undefined) return "";
  const { code, body } = answer;
  const fields = (typeof body === "object" ? body : {}) as Readonly<Record<string, string>>;
  const { kind = "", reason = "", message } = fields;
  const words = message === undefined ? `${code} ${kind}`.trim() : `${code} ${reason}: ${message}`.replace(" :", ":");
  const text = words.replaceAll(/\s+/g, " ").replaceAll("`", "'");
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text;
}
