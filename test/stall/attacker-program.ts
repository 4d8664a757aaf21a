import { fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { openHttp2, sendHttp2, type WireReply } from "../kits/wire.ts";
import { corpus, type CostlyRequest, type Sender } from "./corpus.ts";
import { lastPrepared, prepared } from "./world.ts";
import type { ProberStart, Waits } from "./prober-program.ts";

/** What the attacker is told. */
export interface AttackStart {
  readonly url: string;
  readonly caFile: string;
  readonly hubPid: number;
  readonly proberProgram: string;
  readonly tokens: Readonly<Record<Exclude<Sender, "anonymous">, string>>;
  /** Only requests whose names hold this. */
  readonly only?: string;
}

/** One request of the corpus, as it went. */
export interface Attacked extends Waits {
  readonly name: string;
  readonly statuses: readonly number[];
  readonly allowed: readonly number[];
  /** Milliseconds until the last of its copies was answered. */
  readonly ms: number;
  /** The hub's memory above idle, in megabytes. */
  readonly megabytes: number;
  /** Milliseconds in which the hub's main thread could have run, and other programs had its processor. */
  readonly deprivedMs: number;
  readonly message: string;
}

const start = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as AttackStart;
const target = { port: Number(new URL(start.url).port), caPem: readFileSync(start.caFile, "utf8") };

/** The hub's own memory; pages of the store's file, which the kernel can take back at any time, are not counted. */
function residentMegabytes(): number {
  const [, kilobytes = "0"] = /RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${start.hubPid}/status`, "utf8")) ?? [];
  return Number(kilobytes) / 1024;
}

/** Milliseconds that the hub's other threads have run. */
function helpersMs(): number {
  const threads = readdirSync(`/proc/${start.hubPid}/task`).filter((thread) => thread !== String(start.hubPid));
  return threads.reduce((sum, thread) => sum + ranMs(thread), 0);
}

function ranMs(thread: string): number {
  try {
    return Number(readFileSync(`/proc/${start.hubPid}/task/${thread}/schedstat`, "utf8").split(" ", 1)[0]) / 1e6;
  } catch {
    // A thread that has ended meanwhile.
    return 0;
  }
}

/** Milliseconds that a thread waited for a processor so far. Source: Linux's Documentation/scheduler/sched-stats. */
function deprivedMs(): number {
  const [, nanoseconds = "0"] = readFileSync(`/proc/${start.hubPid}/task/${start.hubPid}/schedstat`, "utf8").split(" ");
  return Number(nanoseconds) / 1e6;
}

async function sent(
  request: Pick<CostlyRequest, "method" | "path" | "type" | "accept"> & { readonly as: Sender },
  body: string | Buffer | undefined,
): Promise<WireReply> {
  const session = await openHttp2(target);
  try {
    return await sendHttp2(session, {
      method: request.method,
      path: request.path,
      headers: [
        ...(request.as === "anonymous" ? [] : ([["authorization", `Bearer ${start.tokens[request.as]}`]] as const)),
        ...(request.type === undefined ? [] : ([["content-type", request.type]] as const)),
        ...(request.accept === undefined ? [] : ([["accept", request.accept]] as const)),
      ],
      body,
    });
  } finally {
    session.destroy();
  }
}

async function prepare(): Promise<void> {
  for (const request of prepared) {
    const reply = await sent({ ...request, as: "admin" }, request.body?.());
    if (reply.status !== 201) throw new RangeError(`${request.path}: ${reply.status} ${reply.text.slice(0, 300)}`);
  }
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const reply = await sent({ ...lastPrepared, as: "admin" }, lastPrepared.body?.());
    if (reply.status === 201) return;
    await pause(100);
  }
  throw new RangeError("the kind of the corpus is not served");
}

async function attack(request: CostlyRequest, prober: () => Promise<Waits>, idle: number): Promise<Attacked> {
  const body = request.body?.();
  await pause(150);
  await prober();
  let highest = 0;
  const sampler = setInterval(() => {
    highest = Math.max(highest, residentMegabytes());
  }, 20);
  const begun = performance.now();
  const before = deprivedMs() - helpersMs();
  const replies = await Promise.all(
    Array.from({ length: request.copies ?? 1 }, () =>
      sent(request, body).catch((error: unknown) => ({ status: 0, text: String(error) })),
    ),
  );
  const ms = performance.now() - begun;
  await pause(100);
  clearInterval(sampler);
  const waits = await prober();
  const message = replies.find(({ status }) => status >= 400 || status === 0)?.text.slice(0, 400) ?? "";
  return {
    name: request.name,
    statuses: replies.map(({ status }) => status),
    allowed: request.statuses,
    ms,
    megabytes: highest - idle,
    deprivedMs: Math.max(0, deprivedMs() - helpersMs() - before),
    message,
    ...waits,
  };
}

const maxRepeats = 4;
const quietMs = 50;
const disturbedMs = 10;

function isDisturbed({ livez, lease, deprivedMs: deprived }: Attacked): boolean {
  return Math.max(livez, lease) > quietMs && deprived > disturbedMs;
}

async function main(): Promise<void> {
  await prepare();
  const child = fork(start.proberProgram, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  child.send({ url: start.url, caFile: start.caFile, token: start.tokens.tenant } satisfies ProberStart);
  const prober = async (): Promise<Waits> => {
    const answer = once(child, "message");
    child.send("report");
    const [waits] = await answer;
    return waits as Waits;
  };
  await pause(1500);
  const idle = residentMegabytes();
  for (const request of corpus) {
    if (start.only !== undefined && !request.name.includes(start.only)) continue;
    let attacked = await attack(request, prober, idle);
    // What other programs of the machine took from the hub says nothing of the hub: that is measured again.
    for (let again = 0; again < maxRepeats && isDisturbed(attacked); again += 1) {
      const { statuses, message } = attacked;
      const repeated = await attack(request, prober, idle);
      // What was created the first time cannot be created again.
      if (Math.max(repeated.livez, repeated.lease) < Math.max(attacked.livez, attacked.lease))
        attacked = { ...repeated, statuses, message };
    }
    process.stdout.write(`${JSON.stringify(attacked)}\n`);
  }
  child.kill();
}

await main();
process.exit(0);
