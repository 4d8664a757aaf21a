import { logEntry } from "../../apimachinery/log-entry.ts";
import {
  checkServing,
  type SecureServing,
  servingPair,
  type ServingPair,
} from "../../operator/serving/secure-serving.ts";
import type { WatchedRevocations } from "../../operator/watched-revocations.ts";
import type { World } from "../../operator/world.ts";
import { noPolicy, serveAuthorizer, webhookKubeconfig, authorizerMetrics } from "../../policy-server/authorizer.ts";
import { openPolicy } from "../../policy-server/policy-source.ts";
import type { Args, Run } from "../command.ts";
import type { Io } from "../io.ts";
import { logTo } from "../log-line.ts";
import { warningInLog, warnOfOpenSecrets } from "../open-secrets.ts";
import { requireKubeconfig } from "../server-access.ts";
import { secureServing } from "../serving.ts";
import { yamlText } from "../yaml-text.ts";
import { policySource } from "./policy-flags.ts";
import { usageError } from "../cli-error.ts";

/** Serves decisions until a signal, or prints the kubeconfig for kube-apiserver. */
export const runAuthorizer: Run = async (args, io) => {
  const serving = secureServing(args);
  await checkServing(serving, io);
  const url = urlOf(args, serving, io);
  const pairOf = (): Promise<ServingPair> =>
    servingPair({ serving, world: io, place: { url }, commonName: "pratique-authorizer" });
  if (args.on("print-kubeconfig")) {
    const { caPem } = await pairOf();
    io.stdout.write(yamlText(webhookKubeconfig(url, caPem, serving.clientCaFile !== undefined)));
    return;
  }
  const log = logTo(args, io);
  const world = { ...io, log };
  const metrics = authorizerMetrics();
  const source = policySource(args);
  await warnOfOpenSecrets([serving.keyFile, source.opa.tokenFile], warningInLog(io, log));
  const followed = args.on("revocations") ? await followRevocations(args, io, world) : undefined;
  const isAlone = followed !== undefined && Object.keys(source.sources).length === 0;
  const policy = isAlone ? noPolicy : await openPolicy({ ...source, world: { ...world, reloaded: metrics.reloaded } });
  try {
    // Created last: a policy or a kubeconfig that cannot be used leaves no CA behind.
    const pair = await pairOf();
    const revocations = followed?.revocations;
    await serveAuthorizer({ policy, revocations, serving, pair, metrics, world, signal: io.interrupted() });
  } finally {
    policy.close();
    followed?.close();
  }
  log(logEntry("Stopped", "the authorizer stopped"));
};

async function followRevocations(
  args: Args,
  io: Io,
  { clock, log }: World,
): Promise<{ readonly revocations: WatchedRevocations; readonly close: () => void }> {
  const { watchedRevocations } = await import("../../operator/watched-revocations.ts");
  const client = await io.connect(await requireKubeconfig(args, warningInLog(io, log)));
  const running = new AbortController();
  const revocations = watchedRevocations({ client, clock, log, signal: running.signal });
  return {
    revocations,
    close: () => {
      running.abort();
      client.close();
    },
  };
}

function urlOf(args: Args, { bindAddress: bind, port }: SecureServing, io: Io): string {
  const own = ["0.0.0.0", "::"].includes(bind) ? io.hostname : bind;
  const given = args.text("url") ?? `https://${own.includes(":") ? `[${own}]` : own}:${port}`;
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url?.protocol !== "https:" || `${url.search}${url.hash}${url.username}` !== "") {
    throw usageError(`--url ${JSON.stringify(given)}: must be https://HOST[:PORT]`);
  }
  return `${url.origin}${url.pathname === "/" ? "" : url.pathname.replace(/\/authorize$|\/$/, "")}/authorize`;
}
