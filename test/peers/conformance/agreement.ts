import type { Answer } from "./answer.ts";

/** Why two answers agree that are not letter by letter the same. */
export interface Reading {
  /** What kube-apiserver words otherwise, and where the contract of the API has it. */
  readonly what: string;
  /** Whether it explains what differs: both are texts that clients see. Returns them as they are to be compared. */
  readonly read: (theirs: string, ours: string) => readonly [string, string];
}

/** What is seen of both is covered where kube-apiserver has its own form of it. */
function covered(theirs: RegExp, ours: RegExp, cover: string): Reading["read"] {
  return (a, b) => (a.search(theirs) < 0 ? [a, b] : [a.replaceAll(theirs, cover), b.replaceAll(ours, cover)]);
}

/** Theirs is put into the words of the contract. */
function reworded(theirs: RegExp, words: string): Reading["read"] {
  return (a, b) => [a.replaceAll(theirs, words), b];
}

const unknownType = /^the body of the request was in an unknown format - accepted media types include: .*$/g;
const goValue = /(?<=value: )(?:\["\w+"(?:,"\w+")*\]|\[\{"Name".*?\}\]|\{"(?:Path|Key|name)".*?\})(?=: [a-z])/g;
const jsonValue = /(?<=value: )(?:\[.*?\]|\{.*?\})(?=: [a-z])/g;
const fieldOfStruct = /(?<=Go struct field )\S+ of type \S+$/g;

/** How answers of kube-apiserver are read. Each is what section of the contract proves. */
export const readings: readonly Reading[] = [
  {
    what: "`cannot be handled as a <Expected>: <why>` (section 6): the contract leaves the why open. kube-apiserver names the Go structure of a field and its Go type; the hub names the path of the field and its JSON type.",
    read: covered(fieldOfStruct, fieldOfStruct, "FIELD"),
  },
  {
    what: "`cannot be handled as a <Expected>: <why>` (section 6): the hub names the field before what is wrong with its text.",
    read: covered(
      /(?<=cannot be handled as a \w+: )(?:illegal base64 data at input byte \d+|parsing time .*)$/g,
      /(?<=cannot be handled as a \w+: )\S+: (?:illegal base64 data at input byte \d+|parsing time .*)$/g,
      "WHY",
    ),
  },
  {
    what: "A value in a message is JSON (section 8); kube-apiserver prints its internal type, with other names of the fields and with those that the server sets.",
    read: covered(goValue, jsonValue, "VALUE"),
  },
  {
    what: "`Precondition failed: UID in precondition: ...` (section 6); kube-apiserver puts the etcd key before it.",
    read: reworded(
      /StorageError: invalid object, Code: 4, Key: \S+, ResourceVersion: 0, AdditionalErrorMsg: (?=Precondition failed: UID)/g,
      "",
    ),
  },
  {
    what: "`only the following media types are accepted: ...` (section 3); in kube-apiserver a router before it answers `406: Not Acceptable` with a list.",
    read: covered(
      /^406: Not Acceptable\n[^]*$/g,
      /^only the following media types are accepted: .*$/g,
      "NOT ACCEPTABLE",
    ),
  },
  {
    what: "`the body of the request was in an unknown format - accepted media types include: ...` (section 3); in kube-apiserver a router before it answers `415: Unsupported Media Type`.",
    read: covered(/^415: Unsupported Media Type$/g, unknownType, "UNSUPPORTED"),
  },
  {
    what: '`in scheme "..."` is followed by the name of a file of kube-apiserver\'s own source.',
    read: (a, b) => [a.replaceAll(scheme, "SCHEME"), b.replaceAll(scheme, "SCHEME")],
  },
];

const scheme = /(?<=in scheme )"[^"]*"/g;

/** A path that does not exist: a Status, or this text (section 8 of the contract). */
export const nothingThere =
  "A path that does not exist: `the server could not find the requested resource` or the text `404 page not found` (section 8).";

/** The readings by which the two agree; empty where they are the same, undefined where they differ. */
export function agreement(theirs: Answer, ours: Answer): readonly string[] | undefined {
  if (JSON.stringify(theirs) === JSON.stringify(ours)) return [];
  if (theirs.code === 404 && ours.code === 404 && isNothingThere(theirs, ours)) return [nothingThere];
  const used = new Set<string>();
  const [a, b] = both(theirs.body, ours.body, used);
  const same = theirs.code === ours.code && theirs.type === ours.type && JSON.stringify(a) === JSON.stringify(b);
  return same ? [...used] : undefined;
}

function isNothingThere(theirs: Answer, ours: Answer): boolean {
  const { message } = ours.body as { readonly message?: unknown };
  return theirs.body === "404 page not found" && message === "the server could not find the requested resource";
}

/** Two values, each text in them as it is read. */
function both(a: unknown, b: unknown, used: Set<string>): readonly [unknown, unknown] {
  if (typeof a === "string" && typeof b === "string") return texts(a, b, used);
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return [a, b];
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  const pairs = Object.keys(left)
    .filter((key) => Object.hasOwn(right, key))
    .map((key) => [key, both(left[key], right[key], used)] as const);
  return [
    { ...left, ...Object.fromEntries(pairs.map(([key, [one]]) => [key, one])) },
    { ...right, ...Object.fromEntries(pairs.map(([key, [, one]]) => [key, one])) },
  ];
}

function texts(theirs: string, ours: string, used: Set<string>): readonly [string, string] {
  let pair: readonly [string, string] = [theirs, ours];
  for (const { what, read } of readings) {
    if (pair[0] === pair[1]) break;
    const next = read(pair[0], pair[1]);
    if (next[0] !== pair[0] || next[1] !== pair[1]) used.add(what);
    pair = next;
  }
  return pair;
}
