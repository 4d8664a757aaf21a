import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseAst } from "vitest/node";

/** A word that names and texts must not have, and what to write instead. Why: docs/adr/0018-names-of-the-field.md. */
interface Rule {
  readonly banned: RegExp;
  readonly reason: string;
  /** What the rule must catch; one that it does not is a rule that cannot fail. */
  readonly sample: string;
  /** Names that may have the word, with the reason in the comment beside them. */
  readonly allowed?: readonly string[];
}

/** For file names and identifiers, word by word: `toldHub` is `told hub` here. */
const nameRules: readonly Rule[] = [
  {
    banned: /\b(?:told|tells?|telling|teller)\b/,
    reason: "report, notify, published",
    sample: "toldHub",
    allowed: ["told"],
  },
  { banned: /\b(?:said|says?)\b/, reason: "the message, the condition, or describe…", sample: "saidFailure" },
  { banned: /\b(?:gave|saw)\b/, reason: "a verb in the present tense, such as recordUse", sample: "gave" },
  {
    banned: /\b(?:most|widest)\b|\bat (?:most|least)\b$/,
    reason: "max…, min…",
    sample: "mostBytes",
    allowed: ["most", "atMost", "atLeast", "widest"],
  },
  {
    banned: /\b(?:longest|shortest|largest|smallest) \w+ (?:bytes|characters|items|length)\b/,
    reason: "max…, min…",
    sample: "longestReplyBytes",
  },
  { banned: /\bshut out\b/, reason: "deny, reject, Rejection", sample: "awaitShutOut", allowed: ["shutOut"] },
  { banned: /\bfurnish(?:e[sd]|ing)?\b/, reason: "bootstrap", sample: "isFurnished" },
  { banned: /\bmend(?:s|ed|ing|able)?\b/, reason: "recover, recovered", sample: "mended" },
  { banned: /\bbrak(?:e|es|ed|ing)\b/, reason: "rate limited", sample: "isBraked" },
  { banned: /\bheart\b/, reason: "a lease that is renewed, or a heartbeat in one word", sample: "beatHeart" },
  { banned: /\bstanding\b/, reason: "status", sample: "credentialStanding" },
  {
    banned: /\bst(?:ands?|ood)\b/,
    reason: "status, default, index: what it is",
    sample: "stoodAt",
    allowed: ["standIn", "canStand"],
  },
  { banned: /\bbeliev(?:e|es|ed)\b/, reason: "trusted, verified, cached", sample: "believedMs" },
  { banned: /\bbears?\b/, reason: "has; load test", sample: "whatItBears" },
  { banned: /\bfates?\b/, reason: "impact, consequence", sample: "fatesOf" },
  {
    banned: /\btwins?\b/,
    reason: "malleated: cryptography's word for a signature in its other form",
    sample: "twinCertificate",
  },
  { banned: /\b(?:people|person)\b/, reason: "approver, user, manual approval", sample: "leftToPeople" },
  { banned: /\blives\b/, reason: "lifetimes", sample: "accountLives" },
  { banned: /\bkeepers?\b/, reason: "manager, as kubelet's certificate manager", sample: "tokenKeeper" },
  { banned: /\bhasten(?:s|ed)?\b/, reason: "early rotation", sample: "hastenedRotation", allowed: ["hastened"] },
  { banned: /\bcrowded\b/, reason: "TooManyRequests", sample: "Crowded" },
  { banned: /\b(?:heard|hears?|spoken)\b/, reason: "received, vertex", sample: "HeardBody" },
  {
    banned: /\b(?:nobody|somebody|anybody|whoever)\b/,
    reason: "the role: requester, approver, user, client",
    sample: "forNobody",
  },
  { banned: /\banew\b/, reason: "again, restart, new", sample: "enrolAnew" },
  { banned: /\bdoubts?\b/, reason: "mismatch, problem", sample: "dnsDoubt" },
  { banned: /\b(?:authorization|access) book\b/, reason: "cache", sample: "authorizationBook" },
];

/*
 * Why some names are allowed: `told`, `shutOut` and `hastened` are members of files that agents have on disk; `most`, `atMost`, `atLeast`
 * and `widest` say what was measured or how two numbers compare, and limit nothing; `standIn` is a double in tests of policies.
 */

/** For texts that people read: messages, help, descriptions, docs. */
const textRules: readonly Rule[] = [
  {
    banned: /\b(?:whoever|whomever|nobody|somebody|anybody)\b/i,
    reason: "the role: the requester, an approver, a user",
    sample: "whoever asks",
  },
  {
    banned: /\b(?:is|are|be|never) believed\b|\bbelieves?\b/i,
    reason: "trusted, verified, accepted, cached",
    sample: "tokens are believed",
  },
  {
    banned: /\bleads no more\b|^leads$|\banother leads\b/i,
    reason: "leader election: became leader, lost leadership",
    sample: "leads no more",
  },
  { banned: /\btold\b/i, reason: "reported, sent; say which program reports it", sample: "the hub was told" },
  { banned: /\bmended\b|\bmends\b/i, reason: "corrected, recovered", sample: "as soon as that is mended" },
  { banned: /\bfurnish/i, reason: "bootstrap, create", sample: "furnishes the namespace" },
  {
    banned: /\blets? (?:\w+ )?in\b(?! (?:the|a|an|its|order|this|that) )/i,
    reason: "accept, approve, admit",
    sample: "lets it in",
  },
  { banned: /\bshuts? (?:\w+ )?out\b/i, reason: "deny, reject, no longer accepted", sample: "shuts clusters out" },
  { banned: /\banew\b/i, reason: "again; create a new request", sample: "ask anew" },
  {
    banned: /\bwhat it bears\b|\bbears its name\b/i,
    reason: "load test; is named after it",
    sample: "to see what it bears",
  },
  {
    banned: /\bgoes on where\b|\bsame command (?:again )?goes on\b/i,
    reason: "run the same command again to resume",
    sample: "the same command goes on",
  },
  {
    banned: /\bis refused no more\b|\bcan be kept again\b/i,
    reason: "credential accepted again, renewal recovered",
    sample: "it is refused no more",
  },
  { banned: /\bstands? between\b/i, reason: "the connection is intercepted", sample: "one stands between" },
];

interface Found {
  readonly file: string;
  readonly names: ReadonlySet<string>;
  readonly texts: readonly string[];
}

interface SyntaxNode {
  readonly type: string;
  readonly [field: string]: unknown;
}

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";

/** The identifiers and the texts of several words in a program; what it imports, and comments, are neither. */
function read(file: string, source: string): Found {
  const names = new Set<string>();
  const texts: string[] = [];
  const take = (value: unknown): void => {
    if (typeof value === "string" && value.includes(" ")) texts.push(value);
  };
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (!isNode(value)) return;
    if (value.type === "Identifier" && typeof value["name"] === "string") names.add(value["name"]);
    if (value.type === "Literal") take(value["value"]);
    if (value.type === "TemplateElement") take((value["value"] as { readonly cooked?: unknown }).cooked);
    for (const field of Object.values(value)) visit(field);
  };
  visit(parseAst(source, { lang: "ts" }));
  return { file, names, texts };
}

/** `toldHub` and `told-hub` as `told hub`. */
const words = (name: string): string =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll(/[-_.]/g, " ")
    .toLowerCase();

const complaints = (rules: readonly Rule[], name: string, text: string): readonly string[] =>
  rules
    .filter(({ banned, allowed = [] }) => banned.test(text) && !allowed.includes(name))
    .map(({ reason }) => `${name}: ${reason}`);

const inNames = ({ file, names }: Found): readonly string[] =>
  [basename(file, ".ts"), ...names].flatMap((name) =>
    complaints(nameRules, name, words(name)).map((text) => `${file}: ${text}`),
  );

const inTexts = ({ file, texts }: Found): readonly string[] =>
  texts.flatMap((text) => complaints(textRules, text, text).map((found) => `${file}: ${found}`));

const sources = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && !file.includes("generated"))
  .map((file) => read(file, readFileSync(join("src", file), "utf8")));

/** ADRs are left out: they name what was renamed. */
const pages = ["README.md", "CONTRIBUTING.md"].concat(
  readdirSync("docs")
    .filter((file) => file.endsWith(".md"))
    .map((file) => join("docs", file)),
);

describe("the words of the source", () => {
  test("in names of files and identifiers are those of the field", () => {
    expect(sources.length).toBeGreaterThan(500);
    expect(sources.reduce((sum, { names }) => sum + names.size, 0)).toBeGreaterThan(10_000);
    expect(sources.flatMap(inNames)).toEqual([]);
  });

  test("in texts that people read name who does what", () => {
    expect(sources.reduce((sum, { texts }) => sum + texts.length, 0)).toBeGreaterThan(2000);
    expect(sources.flatMap(inTexts)).toEqual([]);
  });

  test("in the docs are the same", () => {
    expect(pages.length).toBeGreaterThan(20);
    const lines = pages.map((file) => ({
      file,
      names: new Set<string>(),
      texts: readFileSync(file, "utf8").split("\n"),
    }));
    expect(lines.flatMap(inTexts)).toEqual([]);
  });
});

describe("a rule of the vocabulary", () => {
  test.each(nameRules)("catches the identifier $sample", ({ banned, sample }) => {
    const found = read("a.ts", `export const ${sample} = 1;`);
    expect(inNames(found)).not.toEqual([]);
    expect(words(sample)).toMatch(banned);
    expect(inNames(read(`${words(sample).replaceAll(" ", "-")}.ts`, ""))).not.toEqual([]);
  });

  test.each(textRules)("catches the text $sample", ({ banned, sample }) => {
    expect(sample).toMatch(banned);
    expect(inTexts(read("a.ts", `throw new Error("${sample} now");`))).not.toEqual([]);
    expect(inTexts(read("a.ts", `const text = \`\${one} ${sample}\`;`))).not.toEqual([]);
  });

  test.each([...nameRules, ...textRules])("$sample has a word to write instead", ({ reason }) => {
    expect(reason).not.toBe("");
  });

  test("does not read comments, and knows a name on disk", () => {
    expect(inNames(read("a.ts", "// toldHub\nconst shutOut = 1;"))).toEqual([]);
    expect(inTexts(read("a.ts", "/** whoever asks */ const one = 1;"))).toEqual([]);
  });

  test("allows only names that are in use", () => {
    const used = new Set(sources.flatMap(({ names }) => [...names]));
    expect(nameRules.flatMap(({ allowed = [] }) => allowed).filter((name) => !used.has(name))).toEqual([]);
  });
});
