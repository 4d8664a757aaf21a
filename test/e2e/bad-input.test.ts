import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allCommands, type Option } from "../../src/cli/command.ts";
import { commands } from "../../src/cli/commands.ts";
import { processIo } from "../../src/cli/process-io.ts";
import { runProgram } from "../../src/cli/program.ts";
import { bootstrapKubeconfig } from "../../src/client/build-kubeconfig.ts";
import { testCa } from "../kits/fake-hub.ts";

let root = "";
/** Good files, by the word that stands for them. */
let files: Readonly<Record<string, string>> = {};

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "pratique-bad-input-"));
  const { pem } = testCa();
  files = { KUBECONFIG: join(root, "kubeconfig"), CEL: join(root, "policy.cel") };
  const config = bootstrapKubeconfig({ server: "https://127.0.0.1:1", ca: { pem }, token: "abcdef.0123456789abcdef" });
  await writeFile(files["KUBECONFIG"] ?? "", config, { mode: 0o600 });
  await writeFile(files["CEL"] ?? "", "true");
});

afterAll(async () => rm(root, { recursive: true, force: true }));

/** Where a row says this, the path of a file with that content is given, outside of what the command may write to. */
interface InFile {
  readonly holds: string;
}

/** A file that does not exist. */
const missing = "missing";

/** What is given for a flag, what the message must say is allowed, and further words of the command line. */
type Row = readonly [flag: string, value: string | InFile, allowed: RegExp, words?: readonly string[]];

interface Subject {
  readonly command: string;
  /** Words that make a good command line beside the wrong flag; DIR is the new directory. */
  readonly words: readonly string[];
  /** Flags that need others to count at all; `-flag` takes one away that is given otherwise, `-0` the first word. */
  readonly beside: Readonly<Record<string, readonly string[]>>;
  readonly rows: readonly Row[];
  /** Flags of which every value is a good one, with the reason. */
  readonly free: Readonly<Record<string, string>>;
  /** Flags whose value must not be shown. */
  readonly secret?: readonly string[];
  /** It looks at a flag only while it may go on: it is told to end after a while. */
  readonly goesOn?: true;
}

const garbage = { holds: "this is nothing\u0000: [" };
const noSuchFile = /does not exist|is missing|is not there|there is no key at/;
const ofThisMachine = /must be an address of this machine/;
const kubeconfigText = /kubeconfig|YAML|mapping/;

const hub: Subject = {
  command: "hub",
  words: ["--data-dir", "DIR/d", "--secure-port", "0"],
  beside: {
    "authorization-policy-file": ["--authorization-mode", "ABAC"],
    "authorization-webhook-config-file": ["--authorization-mode", "Webhook"],
    "serving-approval-config": ["--serving-approval", "networks"],
    "registration-config": ["--managed-clusters"],
    "oidc-ca-file": ["--oidc-issuer-url", "https://issuer.example", "--oidc-client-id", "hub"],
    "cluster-signing-cert-file": ["--cluster-signing-key-file", "FILE"],
    "cluster-signing-key-file": ["--cluster-signing-cert-file", "FILE"],
  },
  rows: [
    ["data-dir", "", /name a folder, such as/],
    ["data-dir", garbage, /exists and is not a directory; give a path with --data-dir/],
    ["bind-address", "no-such-host.invalid", ofThisMachine],
    ["bind-address", "192.0.2.1", ofThisMachine],
    ["bind-address", "", ofThisMachine],
    ["secure-port", "65536", /0 to 65535/],
    ["tls-san", "https://hub.example:6443", /host name or an address/],
    ["authorization-mode", "RBAC,RBAC", /twice/],
    ["authorization-policy-file", { holds: "no policy\n" }, /line 1/],
    ["authorization-webhook-config-file", garbage, kubeconfigText],
    ["authorization-config", { holds: "kind: Other\n" }, /AuthorizationConfiguration/],
    ["token-auth-file", { holds: "token,only-a-user\n" }, /at least 3 columns \(token, user, uid\)/],
    ["authentication-config", { holds: "kind: Other\n" }, /AuthenticationConfiguration/],
    ["audit-log-path", "DIR/none/audit.log", /folder of .* does not exist/],
    ["oidc-issuer-url", "http://issuer.example", /https/, ["--oidc-client-id", "hub"]],
    [
      "oidc-required-claim",
      "claim",
      /claim=value/,
      ["--oidc-issuer-url", "https://a.example", "--oidc-client-id", "h"],
    ],
    ["oidc-ca-file", { holds: "no PEM" }, /PEM|certificate/],
    ["authentication-token-webhook-config-file", garbage, kubeconfigText],
    ["cluster-signing-duration", "60s", /10m or more/],
    ["service-account-issuer", "not an:// issuer", /URL/],
    ["service-account-signing-key-file", { holds: "no key" }, /PEM|key/],
    ["service-account-key-file", { holds: "no key" }, /PEM|key/],
    ["service-account-max-token-expiration", "60s", /1 hour/],
    ["serving-approval-config", { holds: "kind: Other\n" }, /ServingApproval/],
    ["registration-config", { holds: "kind: Other\n" }, /ClusterRegistration/],
    ["audit-policy-file", { holds: "kind: Other\n" }, /audit.k8s.io\/v1/],
    ["enable-admission-plugins", "Nonsense", /known are/],
    ["disable-admission-plugins", "Nonsense", /known are/],
    ["audit-webhook-config-file", garbage, kubeconfigText],
    ["audit-webhook-batch-max-size", "0", /1 or more/],
    ["revocations-from", { holds: "no list" }, /list of revocations/],
    ["revocations-from", { holds: "eyJhbGciOiJFUzI1NiJ9.e30.c2ln" }, /signed by/],
    ["kubelet-preferred-address-types", "Nonsense", /must be one of Hostname, InternalDNS/],
    ["kubelet-certificate-authority", { holds: "no PEM" }, /certificate of a CA in PEM/],
    ["max-requests-inflight", "0", /not both be 0/, ["--max-mutating-requests-inflight", "0"]],
  ],
  free: {
    "oidc-client-id": "a name that the issuer chooses",
    "oidc-username-claim": "a name that the issuer chooses",
    "oidc-username-prefix": "any text",
    "oidc-groups-claim": "a name that the issuer chooses",
    "oidc-groups-prefix": "any text",
    "api-audiences": "any text",
  },
};

const pin = `sha256:${"0".repeat(64)}`;

const machine: Subject = {
  command: "join",
  words:
    `127.0.0.1:1 --token abcdef.0123456789abcdef --discovery-token-ca-cert-hash ${pin} --discovery-timeout 1s --node-name n --cert-dir DIR/pki --kubeconfig DIR/kubelet.conf`.split(
      " ",
    ),
  beside: {
    "token-file": ["-token"],
    "discovery-file": ["-0", "-discovery-token-ca-cert-hash"],
    "bootstrap-kubeconfig": ["-0", "-discovery-token-ca-cert-hash", "-token"],
  },
  rows: [
    ["token", "nonsense", /of the form abcdef\.0123456789abcdef/],
    ["token-file", garbage, /of the form abcdef\.0123456789abcdef/],
    ["discovery-token-ca-cert-hash", "sha256:zz", /sha256: followed by 64 hexadecimal digits/],
    ["discovery-file", garbage, /YAML/],
    ["discovery-file", "http://hub.example/discovery", /https:\/\/ URL/],
    ["bootstrap-kubeconfig", garbage, /YAML/],
    ["node-name", "Upper_", /lowercase|lower case|RFC 1123/],
    ["cert-dir", "", /name a folder/],
    ["kubeconfig", "", /name a file/],
    ["serving-address", "example", /address/],
    ["serving-name", "Upper_", /DNS name/],
  ],
  free: {},
  secret: ["token"],
};

const request: Subject = {
  command: "request",
  words: ["127.0.0.1:1", "--dir", "DIR/access", "--discovery-timeout", "1s"],
  beside: {},
  rows: [
    ["ca-cert-hash", "sha256:zz", /sha256: followed by 64 hexadecimal digits/],
    ["name", "Upper_", /lowercase|lower case|RFC 1123/],
    ["claim", "rack", /KEY=VALUE/],
    ["dir", "", /name a folder/],
    ["key", garbage, /private key in PEM/],
  ],
  free: { profile: "a name that the hub knows" },
};

const agent: Subject = {
  command: "agent",
  words: ["--dir", "DIR/access", "--once"],
  beside: {},
  rows: [
    ["dir", "", /name a folder/],
    ["owner", "no-such-user-here", /there is no user/],
    ["owner", "a:b:c", /USER or USER:GROUP/],
    ["mode", "0644", /0600, 0400, 0640 and 0440/],
    ["health-address", "example", /HOST:PORT/],
  ],
  free: { "after-rotation": "a program may be installed later" },
};

const klusterlet: Subject = {
  command: "klusterlet",
  words: ["--bootstrap-kubeconfig", "KUBECONFIG", "--dir", "DIR/klusterlet", "--cluster-name", "east"],
  beside: {},
  rows: [
    ["bootstrap-kubeconfig", garbage, /YAML/],
    ["cluster-name", "Upper_", /lowercase|lower case|RFC 1123/],
    ["spoke-kubeconfig", garbage, /YAML/],
    ["namespace", "Upper_", /lowercase|lower case|RFC 1123/],
    ["dir", "", /name a folder/],
    ["external-server", "http://east.example", /https:\/\/ URL/],
    ["certificate-duration", "60s", /1h or more/],
    ["health-address", "example", /HOST:PORT/],
  ],
  free: {},
  goesOn: true,
};

const serving: readonly Row[] = [
  ["bind-address", "192.0.2.1", ofThisMachine],
  ["bind-address", "", ofThisMachine],
  ["secure-port", "65536", /0 to 65535/],
  ["cert-dir", "", /name a folder/],
  ["tls-san", "https://hub.example", /host name or an address/],
  ["tls-cert-file", garbage, /belong together/],
  ["tls-private-key-file", garbage, /belong together/],
  ["tls-ca-file", garbage, /PEM/],
  ["client-ca-file", garbage, /PEM/],
  ["context", "nonsense", /contexts?/],
];

const ownPair = {
  "tls-cert-file": ["--tls-private-key-file", "FILE"],
  "tls-private-key-file": ["--tls-cert-file", "FILE"],
};

const authorizer: Subject = {
  command: "authorizer",
  words: ["--cert-dir", "DIR/certs", "--secure-port", "0", "--cel", "CEL"],
  beside: {
    ...ownPair,
    policy: ["-cel"],
    bundle: ["-cel"],
    "opa-url": ["-cel"],
    query: ["-cel", "--opa-url", "https://127.0.0.1:1"],
    "opa-ca-file": ["-cel", "--opa-url", "https://127.0.0.1:1"],
    "opa-token-file": ["-cel", "--opa-url", "https://127.0.0.1:1"],
    "opa-timeout": ["-cel", "--opa-url", "https://127.0.0.1:1"],
    kubeconfig: ["--revocations"],
    context: ["--revocations", "--kubeconfig", "KUBECONFIG"],
  },
  rows: [
    ...serving,
    ["policy", garbage, /rego/i],
    ["bundle", garbage, /bundle|gzip|wasm/i],
    ["cel", garbage, /CelPolicy|YAML|object/],
    ["opa-url", "ftp://opa.example", /http\[s\]:\/\//],
    ["opa-url", "http://opa.example", /this machine only/],
    ["opa-ca-file", garbage, /PEM certificate/],
    ["opa-token-file", { holds: "two\nlines" }, /one line of printable characters/],
    ["opa-timeout", "31s", /at most 30s/],
    ["query", "!", /names joined by dots/],
    ["kubeconfig", garbage, /YAML/],
    ["url", "http://authorizer.example", /https:\/\/HOST/],
  ],
  free: {},
};

const webhook: Subject = {
  command: "webhook",
  words: ["--cert-dir", "DIR/certs", "--secure-port", "0", "--kubeconfig", "KUBECONFIG"],
  beside: ownPair,
  rows: [
    ...serving,
    ["kubeconfig", garbage, /YAML/],
    ["url", "http://webhook.example", /https:\/\/HOST/],
    ["service", "pratique-webhook", /NAMESPACE\/NAME/],
    ["ca-file", garbage, /PEM/],
  ],
  free: {},
};

const controller: Subject = {
  command: "controller",
  words: ["--kubeconfig", "KUBECONFIG"],
  beside: {
    "serving-approval-config": ["--controllers", "serving-approving"],
    "registration-config": ["--controllers", "registration"],
    "leader-elect-lease-namespace": ["--leader-elect"],
    "leader-elect-lease-name": ["--leader-elect"],
  },
  rows: [
    ["kubeconfig", garbage, /YAML/],
    ["context", "nonsense", /contexts?/],
    ["serving-approval-config", { holds: "kind: Other\n" }, /ServingApproval/],
    ["registration-config", { holds: "kind: Other\n" }, /ClusterRegistration/],
    ["ca-file", garbage, /PEM/],
    ["leader-elect-lease-namespace", "Upper_", /lowercase|lower case|RFC 1123/],
    ["leader-elect-lease-name", "Upper_", /lowercase|lower case|RFC 1123/],
    ["health-address", "example", /HOST:PORT/],
  ],
  free: {},
};

const subjects: readonly Subject[] = [hub, machine, request, agent, klusterlet, authorizer, webhook, controller];

/** Files that the command writes. */
const written: ReadonlySet<string> = new Set(["hub --audit-log-path", "join --kubeconfig"]);

/** Kinds of values whose form the table of options checks, with one of wrong form. */
const wrongForm: Partial<Record<Option["kind"], readonly [value: string, allowed: RegExp]>> = {
  duration: ["soon", /duration/],
  integer: ["many", /whole number/],
};

function tableOf(command: string): readonly Option[] {
  return allCommands(commands).find(({ name }) => name === command)?.options ?? [];
}

/** The rows of a subject, with those that follow from its table of options: files that are missing, values of wrong form. */
function rowsOf({ command, rows, free }: Subject): readonly Row[] {
  const derived = tableOf(command).flatMap(({ name, kind, completes, choices }): readonly Row[] => {
    if (Object.hasOwn(free, name)) return [];
    const form = wrongForm[kind];
    if (form !== undefined) return [[name, ...form]];
    if (choices !== undefined) return [[name, "nonsense", /must be one of/]];
    return completes === "file" && !written.has(`${command} --${name}`) ? [[name, missing, noSuchFile]] : [];
  });
  return [...derived, ...rows];
}

interface Ended {
  readonly code: number;
  readonly err: string;
}

async function run(words: readonly string[], goesOn?: true): Promise<Ended> {
  const err: string[] = [];
  // Whatever would go on is to end at once: a command that takes the value ends with 0.
  const stopped = goesOn === true ? AbortSignal.timeout(30_000) : AbortSignal.abort();
  const io = {
    ...processIo(),
    stdout: { write: () => undefined, isTty: false },
    stderr: { write: (text: string) => void err.push(text), isTty: false },
    stdin: async () => "",
    env: {},
    cwd: root,
    home: join(root, "home"),
    isRoot: false,
    interrupted: () => stopped,
  };
  const code = await runProgram(commands, words, io);
  return { code, err: err.join("") };
}

type Contents = Readonly<Record<string, string>>;

/** Everything below a folder: kinds, modes and contents. */
async function contentsOf(folder: string): Promise<Contents> {
  const found: Record<string, string> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const content = entry.isSymbolicLink()
      ? `-> ${await readlink(path)}`
      : entry.isFile()
        ? `${((await stat(path)).mode & 0o777).toString(8)} ${createHash("sha256")
            .update(await readFile(path))
            .digest("hex")}`
        : "folder";
    found[path] = content;
  }
  return found;
}

let given = 0;

/** The text that stands for a value on the command line. */
async function textOf(value: Row[1]): Promise<string> {
  given += 1;
  const path = join(root, `given-${given}`);
  if (value === missing) return path;
  if (typeof value === "string") return value;
  await writeFile(path, value.holds, { mode: 0o600 });
  return path;
}

interface Tried extends Ended {
  /** Whether the message shows the value as it was typed. */
  readonly shown: boolean;
  readonly before: Contents;
  readonly after: Contents;
}

async function tried(subject: Subject, [flag, value, , more = []]: Row, dir: string): Promise<Tried> {
  const text = (await textOf(value)).replaceAll("DIR", dir);
  const beside = [...(subject.beside[flag] ?? []), ...more];
  const taken = beside.filter((word) => /^-[^-]/.test(word)).map((word) => word.slice(1));
  const usual = [flag, ...taken].reduce<readonly string[]>(withoutFlag, subject.words);
  const put: Readonly<Record<string, string>> = { FILE: await textOf(garbage), ...files };
  const words = [...usual, ...beside.filter((word) => !/^-[^-]/.test(word))];
  const line = [subject.command, ...words.map((word) => put[word] ?? word.replace("DIR", dir))];
  const before = await contentsOf(dir);
  const { code, err } = await run([...line, `--${flag}=${text}`], subject.goesOn);
  const shown = err.replace(`--${flag}=${text}`, "").includes(text.split(",")[0] ?? text);
  return { code, err, shown, before, after: await contentsOf(dir) };
}

/** Whether a refusal must show the value; of a file it may say its fault alone. */
function mustShow({ secret = [] }: Subject, [flag, value]: Row): boolean | undefined {
  if (secret.includes(flag)) return false;
  return typeof value === "string" && value !== "" ? true : undefined;
}

function withoutFlag(words: readonly string[], flag: string): readonly string[] {
  if (flag === "0") return words.slice(1);
  const at = words.indexOf(`--${flag}`);
  return at < 0 ? words : [...words.slice(0, at), ...words.slice(at + 2)];
}

type Titled = readonly [flag: string, value: string, row: Row];

function titled(subject: Subject): readonly Titled[] {
  return rowsOf(subject).map((row) => [row[0], typeof row[1] === "string" ? row[1] : row[1].holds, row]);
}

describe.each(subjects)("a wrong value makes nothing: pratique $command", (subject) => {
  test.each(titled(subject))("--%s %j", async (flag, _value, row) => {
    const dir = await mkdtemp(join(root, "new-"));
    const { code, err, shown, after } = await tried(subject, row, dir);
    await rm(dir, { recursive: true, force: true });
    expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(row[2]) });
    expect(err).toContain(`--${flag}`);
    expect({ err, shown }).toEqual({ err, shown: mustShow(subject, row) ?? shown });
    expect(after).toEqual({});
  });

  test("and every flag that has a value is among those that are tried", () => {
    const known = new Set([...rowsOf(subject).map(([flag]) => flag), ...Object.keys(subject.free)]);
    const untried = tableOf(subject.command).filter(({ name, kind }) => kind !== "boolean" && !known.has(name));
    expect(untried.map(({ name }) => name)).toEqual([]);
  });
});

describe("a wrong value changes nothing of a hub that has run", () => {
  let dir = "";
  let first: number | undefined;
  beforeAll(async () => {
    dir = await mkdtemp(join(root, "run-"));
    first = (await run(["hub", "--data-dir", join(dir, "d"), "--secure-port", "0"])).code;
  });

  test("which had started", () => expect(first).toBe(0));

  test.each(titled(hub))("--%s %j", async (_flag, _value, row) => {
    const { code, before, after } = await tried(hub, row, dir);
    expect(code).toBe(2);
    expect(after).toEqual(before);
  });
});
