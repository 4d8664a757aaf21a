import type { Answer } from "./answer.ts";

/** Why two answers agree that are not letter by letter the same. */
export interface Reading {
  /** What is in the words of 1.20, and where the contract of the API has it otherwise. */
  readonly what: string;
  /** Whether it explains what differs: both are texts that clients see. Returns them as they are to be compared. */
  readonly read: (theirs: string, ours: string) => readonly [string, string];
}

/** What is seen of both is covered where release 1.20 has its own form of it. */
function covered(theirs: RegExp, ours: RegExp, cover: string): Reading["read"] {
  return (a, b) => (a.search(theirs) < 0 ? [a, b] : [a.replaceAll(theirs, cover), b.replaceAll(ours, cover)]);
}

/** Theirs is put into the words of the contract. */
function reworded(theirs: RegExp, words: string): Reading["read"] {
  return (a, b) => [a.replaceAll(theirs, words), b];
}

const unknownType =
  /^the body of the request was in an unknown format - accepted media types include: application\/json-patch\+json.*$/g;
const goValue = /(?<=value: )(?:0x0|(?:\[\])?[A-Za-z0-9]*\.?[A-Za-z]+\{.*?\}|\[\]string\(nil\))(?=: [a-zA-Z/])/g;
const jsonValue = /(?<=value: )(?:0|null|\[.*?\]|\{.*?\})(?=: [a-zA-Z/])/g;

/** How answers of release 1.20 are read. Each is what section of the contract proves. */
export const readings: readonly Reading[] = [
  {
    what: "A value in a message is JSON (section 8); 1.20 prints it as Go does, with addresses in place of what they point to.",
    read: covered(goValue, jsonValue, "VALUE"),
  },
  {
    what: "`cannot be handled as a <Expected>: <why>` (section 6): the contract leaves the why open. The decoder of 1.20 names offsets and Go types.",
    read: covered(
      /(?<=cannot be handled as a \w+: ).*error found in #\d+ byte of[^]*$/g,
      /(?<=cannot be handled as a \w+: )(?:json: cannot unmarshal .*|\S+: (?:illegal base64|parsing|quantities).*)$/g,
      "WHY",
    ),
  },
  {
    what: "`Too long: may not be more than N bytes` (section 8); 1.20 says `must have at most`.",
    read: reworded(/Too long: must have at most (\d+) bytes/g, "Too long: may not be more than $1 bytes"),
  },
  {
    what: "`the namespace of the provided object does not match the namespace sent on the request` (section 6).",
    read: reworded(
      /^the namespace of the object \(\S*\) does not match the namespace on the request \(\S*\)$/g,
      "the namespace of the provided object does not match the namespace sent on the request",
    ),
  },
  {
    what: "`Precondition failed: UID in precondition: ...` (section 6); kube-apiserver puts the etcd key before it.",
    read: reworded(
      /StorageError: invalid object, Code: 4, Key: \S+, ResourceVersion: 0, AdditionalErrorMsg: (?=Precondition failed: UID)/g,
      "",
    ),
  },
  {
    what: "`only the following media types are accepted: ...` (section 3); in kube-apiserver a router before it answers `406: Not Acceptable`.",
    read: covered(/^406: Not Acceptable$/g, /^only the following media types are accepted: .*$/g, "NOT ACCEPTABLE"),
  },
  {
    what: "`the body of the request was in an unknown format - accepted media types include: ...` (section 3); in kube-apiserver a router before it answers `415: Unsupported Media Type`.",
    read: covered(/^415: Unsupported Media Type$/g, unknownType, "UNSUPPORTED"),
  },
  {
    what: "`continue key is not valid...` (section 5.1): the contract leaves the rest open.",
    read: covered(
      /(?<=continue key is not valid: server does not recognize this encoded version )".*"$/g,
      /(?<=continue key is not valid: server does not recognize this encoded version ).*$/g,
      "VERSION",
    ),
  },
  {
    what: "A patch that is not JSON, or not a list, is malformed, 400 (sections 6.1 and 8, which leave the message open).",
    read: covered(
      /^(?:unexpected (?:end of JSON input|EOF)|json: cannot unmarshal \w+ into Go value of type jsonpatch\.Patch)$/g,
      /^(?:error decoding patch: )?(?:unexpected end of JSON input|json: cannot unmarshal .*)$/g,
      "MALFORMED",
    ),
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

/** A PUT of what is not there. */
export const notThere =
  "PUT: 404 where nothing is stored and the kind does not allow create-on-update (section 6); 1.20 checks the uid first.";

/** The readings by which the two agree; empty where they are the same, undefined where they differ. */
export function agreement(theirs: Answer, ours: Answer): readonly string[] | undefined {
  if (JSON.stringify(theirs) === JSON.stringify(ours)) return [];
  if (theirs.code === 404 && ours.code === 404 && isNothingThere(theirs, ours)) return [nothingThere];
  if (theirs.code === 409 && ours.code === 404 && isNotThere(theirs, ours)) return [notThere];
  const used = new Set<string>();
  const [a, b] = both(theirs.body, ours.body, used);
  const same = theirs.code === ours.code && theirs.type === ours.type && JSON.stringify(a) === JSON.stringify(b);
  return same ? [...used] : undefined;
}

function isNothingThere(theirs: Answer, ours: Answer): boolean {
  const { message } = ours.body as { readonly message?: unknown };
  return theirs.body === "404 page not found" && message === "the server could not find the requested resource";
}

function isNotThere(theirs: Answer, ours: Answer): boolean {
  const { message } = theirs.body as { readonly message?: unknown };
  const { reason } = ours.body as { readonly reason?: unknown };
  return String(message).endsWith("UID in object meta: ") && reason === "NotFound";
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
