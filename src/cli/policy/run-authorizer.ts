import { acceptFailureLog } from "../../hub/connection-limits.ts";
import { logEntry, type LogEntry } from "../../core/log-entry.ts";
import { authorizerMetrics, type AuthorizerMetrics, type ReviewDecision } from "./authorizer-metrics.ts";
import { askedReview, statusOf, type ReviewStatus } from "./authorizer-review.ts";
import { checkServing, servingPort } from "../check-serving.ts";
import { CliError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { DecidingPolicy } from "./deciding-policy.ts";
import type { ExitName } from "../exit-code.ts";
import { failureOf } from "../failure.ts";
import type { Io } from "../io.ts";
import { serveJson, type JsonAnswer } from "../json-server.ts";
import { logTo } from "../log-to.ts";
import { openPolicy, policyKinds } from "./policy-source.ts";
import { readText } from "../read-text.ts";
import { warnInLog, warnOfOpenSecrets } from "../open-secrets.ts";
import { requireKubeconfig } from "../server-access.ts";
import type { WatchedRevocations } from "../credentials/watched-revocations.ts";
import { servingPair, type ServingPair } from "../kubernetes/webhook-pair.ts";
import { yamlText } from "../yaml-text.ts";
import { renewalLoop } from "../../hub/renewal-loop.ts";

/** Serves decisions until a signal, or prints the kubeconfig that leads there. */
export async function runAuthorizer(args: Args, io: Io): Promise<ExitName> {
  await checkServing(args, io);
  const url = urlOf(args, io);
  const pairOf = (): Promise<ServingPair> =>
    servingPair({ args, io, place: { url }, commonName: "pratique-authorizer" });
  if (args.on("print-kubeconfig")) {
    const { caPem } = await pairOf();
    io.stdout.write(yamlText(webhookKubeconfig(url, caPem, args.text("client-ca-file") !== undefined)));
    return "ok";
  }
  const log = logTo(args, io);
  const metrics = authorizerMetrics();
  const secrets = [args.text("tls-private-key-file"), args.text("opa-token-file")];
  await warnOfOpenSecrets(secrets, io, { warn: warnInLog(log) });
  const followed = args.on("revocations") ? await followRevocations(args, io, log) : undefined;
  const isAlone = followed !== undefined && policyKinds.every((name) => args.text(name) === undefined);
  const policy = isAlone ? noPolicy : await openPolicy({ args, io, log, reloaded: metrics.reloaded });
  try {
    // Made last: a policy or a kubeconfig that cannot be used leaves no CA behind.
    const pair = await pairOf();
    await serve(policy, pair, { args, io, log, metrics, revocations: followed?.revocations });
  } finally {
    policy.close();
    followed?.close();
  }
  log(logEntry("Stopped", "the authorizer stopped"));
  return "ok";
}

interface World {
  readonly args: Args;
  readonly io: Io;
  readonly log: (entry: LogEntry) => void;
  readonly metrics: AuthorizerMetrics;
  /** Asked before the policy. */
  readonly revocations: WatchedRevocations | undefined;
}

/** For an authorizer that only refuses what is revoked. */
const noPolicy: DecidingPolicy = {
  ask: async () => ({ json: "false" }),
  look: async () => undefined,
  close: () => undefined,
};

async function followRevocations(
  args: Args,
  io: Io,
  log: World["log"],
): Promise<{ readonly revocations: WatchedRevocations; readonly close: () => void }> {
  const { watchedRevocations } = await import("../credentials/watched-revocations.ts");
  const client = await io.connect(await requireKubeconfig(args, io, warnInLog(log)));
  const life = new AbortController();
  const revocations = watchedRevocations({ client, clock: io.clock, log, signal: life.signal });
  return {
    revocations,
    close: () => {
      life.abort();
      client.close();
    },
  };
}

const lookEveryMs = 2_000;
const drainMs = 5_000;

async function serve(policy: DecidingPolicy, pair: ServingPair, world: World): Promise<void> {
  const { args, io, log, metrics } = world;
  const stop = io.interrupted();
  const clientCaFile = args.text("client-ca-file");
  const answer = decide(policy, world);
  const listening = await serveJson({
    ...pair.current(),
    caPem: pair.caPem,
    host: args.text("bind-address") ?? "",
    port: servingPort(args),
    clientCaPem: clientCaFile === undefined ? undefined : await readText("client-ca-file", clientCaFile, io),
    answerTo: (path) => (path === "/authorize" ? answer : undefined),
    isReady: () => world.revocations?.isLoaded() ?? true,
    certificateProblem: pair.problem,
    answersEarly: true,
    metrics: metrics.text,
    clock: io.clock,
    onFault: (error) =>
      log(logEntry("ReviewFailed", "the authorizer cannot answer a review", { error: failureOf(error).message })),
    acceptFailed: acceptFailureLog({ log, now: () => performance.now(), server: "the authorizer" }),
  });
  log(logEntry("Listening", "the authorizer listens", { port: listening.port }));
  const renewing = renewalLoop({
    clock: io.clock,
    signal: stop,
    renewIfDue: () => pair.look(listening.renew),
    failed: (error) =>
      log(
        logEntry(
          "CertificateRenewalFailed",
          "the authorizer cannot renew its serving certificate; it keeps the previous one",
          { error },
        ),
      ),
  });
  for (;;) {
    await io.clock.sleep(lookEveryMs, stop);
    if (stop.aborted) break;
    await policy.look();
  }
  await renewing;
  log(logEntry("Stopping", "the authorizer stops: reviews in progress may finish; a second signal ends it at once"));
  await listening.close(drainMs);
}

function decide(policy: DecidingPolicy, { log, metrics, revocations }: World): JsonAnswer {
  return async (review) => {
    const read = askedReview(review);
    const { apiVersion, spec, input } = read;
    const begun = performance.now();
    metrics.begun();
    const denial = revocations?.denial(read);
    if (denial !== undefined) {
      metrics.decided("denied", (performance.now() - begun) / 1000);
      return { apiVersion, kind: "SubjectAccessReview", spec, status: denial };
    }
    const judgement = await policy.ask(input);
    const { status, problem } = statusOf(judgement);
    metrics.decided(problem === undefined ? decisionOf(status) : "error", (performance.now() - begun) / 1000);
    const { decisionId } = judgement;
    const named = decisionId === undefined ? {} : { decisionId };
    if (problem !== undefined)
      log(
        logEntry("PolicyFailed", "the policy failed; the authorizer denies the request", { error: problem, ...named }),
      );
    else if (decisionId !== undefined) log(logEntry("ReviewDecided", "the policy decided", { ...status, ...named }));
    return { apiVersion, kind: "SubjectAccessReview", spec, status };
  };
}

function decisionOf({ allowed, denied }: ReviewStatus): ReviewDecision {
  return denied === true ? "denied" : allowed ? "allowed" : "no_opinion";
}

function urlOf(args: Args, io: Io): string {
  const bind = args.text("bind-address") ?? "";
  const host = bind === "0.0.0.0" || bind === "::" ? io.hostname : bind.includes(":") ? `[${bind}]` : bind;
  const given = args.text("url") ?? `https://${host}:${servingPort(args)}`;
  const problem = new CliError("usage", `--url ${JSON.stringify(given)}: must be https://HOST[:PORT]`);
  try {
    const url = new URL(given);
    if (url.protocol !== "https:" || url.search !== "" || url.hash !== "" || url.username !== "") throw problem;
    return `${url.origin}${url.pathname === "/" ? "" : url.pathname.replace(/\/authorize$|\/$/, "")}/authorize`;
  } catch {
    throw problem;
  }
}

/** The file for --authorization-webhook-config-file. */
function webhookKubeconfig(server: string, caPem: string, isMutual: boolean): unknown {
  const certificates = { "client-certificate": "/path/to/client.crt", "client-key": "/path/to/client.key" };
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "authorizer",
        cluster: { server, "certificate-authority-data": Buffer.from(caPem).toString("base64") },
      },
    ],
    users: [{ name: "api-server", user: isMutual ? certificates : {} }],
    contexts: [{ name: "webhook", context: { cluster: "authorizer", user: "api-server" } }],
    "current-context": "webhook",
  };
}
