import { createHash } from "node:crypto";
import { mkdtemp, mkdir, readdir, readFile, readlink, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allCommands, type Option } from "../../src/cli/command.ts";
import { commands } from "../../src/cli/commands.ts";
import { processIo } from "../../src/cli/process-io.ts";
import { runProgram } from "../../src/cli/program.ts";

let root = "";

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "pratique-bad-input-"));
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
  /** Flags that need others to count at all. */
  readonly beside: Readonly<Record<string, readonly string[]>>;
  readonly rows: readonly Row[];
  /** Flags of which every value is a good one, with the reason. */
  readonly free: Readonly<Record<string, string>>;
}

const garbage = { holds: "this is nothing\u0000: [" };
const noSuchFile = /does not exist|is missing/;
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
    ["data-dir", "", /name the folder/],
    ["data-dir", garbage, /is a file.*choose another/],
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

const subjects: readonly Subject[] = [hub];

/** Files that the command writes. */
const written: ReadonlySet<string> = new Set(["audit-log-path"]);

/** Kinds of values whose form the table of options checks, with one of wrong form. */
const wrongForm: Partial<Record<Option["kind"], readonly [value: string, allowed: RegExp]>> = {
  duration: ["soon", /duration/],
  integer: ["many", /whole number/],
};

function tableOf(command: string): readonly Option[] {
  const found = allCommands(commands).find(({ name }) => name === command);
  expect(found).toBeDefined();
  return found?.options ?? [];
}

/** The rows of a subject, with those that follow from its table of options: files that are missing, values of wrong form. */
function rowsOf({ command, rows, free }: Subject): readonly Row[] {
  const derived = tableOf(command).flatMap(({ name, kind, completes, choices }): readonly Row[] => {
    if (Object.hasOwn(free, name)) return [];
    const form = wrongForm[kind];
    if (form !== undefined) return [[name, ...form]];
    if (choices !== undefined) return [[name, "nonsense", /must be one of/]];
    return completes === "file" && !written.has(name) ? [[name, missing, noSuchFile]] : [];
  });
  return [...derived, ...rows];
}

interface Ended {
  readonly code: number;
  readonly err: string;
}

async function run(words: readonly string[]): Promise<Ended> {
  const err: string[] = [];
  // Whatever would go on is to end at once: a command that takes the value ends with 0.
  const stopped = AbortSignal.abort();
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

/** Everything below a folder: kinds, modes and contents. */
async function contentsOf(folder: string): Promise<Readonly<Record<string, string>>> {
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

async function expectRefusal(subject: Subject, [flag, value, allowed, more = []]: Row, dir: string): Promise<void> {
  const text = (await textOf(value)).replaceAll("DIR", dir);
  const words = [...(subject.beside[flag] ?? []), ...more];
  const usual = subject.words.join(" ").replaceAll("DIR", dir).split(" ");
  const some = await textOf(garbage);
  const line = [subject.command, ...withoutFlag(usual, flag), ...words.map((word) => word.replace(/^FILE$/, some))];
  const before = await contentsOf(dir);
  const { code, err } = await run([...line, `--${flag}=${text}`]);
  expect({ code, err }).toMatchObject({ code: 2, err: expect.stringMatching(allowed) });
  expect(err).toContain(`--${flag}`);
  if (typeof value === "string" && value !== "") expect(err).toContain(text.split(",")[0]);
  expect(await contentsOf(dir)).toEqual(before);
}

function withoutFlag(words: readonly string[], flag: string): readonly string[] {
  const at = words.indexOf(`--${flag}`);
  return at < 0 ? words : [...words.slice(0, at), ...words.slice(at + 2)];
}

describe.each(subjects)("a wrong value makes and changes nothing: pratique $command", (subject) => {
  const rows = rowsOf(subject);

  test.each(rows.map((row) => [row[0], typeof row[1] === "string" ? row[1] : row[1].holds, row] as const))(
    "--%s %j",
    async (_flag, _value, row) => {
      const dir = await mkdtemp(join(root, "new-"));
      try {
        await expectRefusal(subject, row, dir);
        expect(await readdir(dir)).toEqual([]);
      } finally {
        await rm(dir, { recursive: true, force: true });
      }
    },
  );

  test("and every flag that has a value is among those that are tried", () => {
    const tried = new Set([...rows.map(([flag]) => flag), ...Object.keys(subject.free)]);
    const untried = tableOf(subject.command).filter(({ name, kind }) => kind !== "boolean" && !tried.has(name));
    expect(untried.map(({ name }) => name)).toEqual([]);
  });
});

describe("a wrong value changes nothing of a hub that has run", () => {
  let dir = "";
  beforeAll(async () => {
    dir = await mkdtemp(join(root, "run-"));
    await mkdir(dir, { recursive: true });
    expect(await run(["hub", "--data-dir", join(dir, "d"), "--secure-port", "0"])).toMatchObject({ code: 0 });
  });

  test.each(rowsOf(hub).map((row) => [row[0], typeof row[1] === "string" ? row[1] : row[1].holds, row] as const))(
    "--%s %j",
    async (_flag, _value, row) => expectRefusal(hub, row, dir),
  );
});
