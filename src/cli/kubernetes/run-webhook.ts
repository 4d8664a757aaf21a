import { getOrUndefined } from "../../client/api-errors.ts";
import { accessAccountAdmission } from "../../admission/access-accounts.ts";
import { accessProfileAdmission } from "../../admission/access-profiles.ts";
import { accessRequestAdmission } from "../../admission/access-requests.ts";
import type { AccessCheck } from "../../admission/access-check.ts";
import { accessTokenAdmission } from "../../admission/access-tokens.ts";
import { accessReviews, type AccessReviews } from "../../admission/access-reviews.ts";
import { clusterAddOnAdmission } from "../../admission/cluster-add-ons.ts";
import { clusterReviews, type ClusterReviews } from "../../admission/cluster-reviews.ts";
import { managedClusterAdmission } from "../../admission/managed-clusters.ts";
import { nodeInventoryAdmission } from "../../admission/node-inventory.ts";
import type { Client } from "../../client/client.ts";
import { informer } from "../../client/informer.ts";
import { subjectAccessReviews } from "../../controllers/kinds.ts";
import { profileFor } from "../../controllers/access/access-request-policy.ts";
import type { ApiObject } from "../../core/object.ts";
import { acceptFailureLog } from "../../hub/connection-limits.ts";
import { addressLimit } from "../../hub/address-limit.ts";
import { logEntry, type LogEntry } from "../../core/log-entry.ts";
import { accessProfiles, type AccessProfile } from "../../resources/access-profile.ts";
import { accessRequests, stateOf, type AccessRequest } from "../../resources/access-request.ts";
import { answeredConversion } from "../../resources/add-on-conversion.ts";
import { namespaces } from "../../resources/namespace.ts";
import type { Resource } from "../../resources/resource.ts";
import { checkServing, servingPort } from "../check-serving.ts";
import { CliError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { ExitName } from "../exit-code.ts";
import { failureOf } from "../failure.ts";
import type { Io } from "../io.ts";
import { accountsOf, namespaceWarning } from "./machine-namespaces.ts";
import { logTo } from "../log-to.ts";
import {
  addOnConversion,
  clusterWebhookConfigurations,
  clusterWebhookName,
  convertedAddOns,
} from "./manifests/cluster-webhooks.ts";
import {
  webhookConfigurationName,
  webhookConfigurations,
  type WebhookPlace,
} from "./manifests/webhook-configurations.ts";
import { warnInLog, warnOfOpenSecrets } from "../open-secrets.ts";
import { readText } from "../read-text.ts";
import { caToHandOut } from "./run-controller.ts";
import { asksForOlderAddOns, placeOf } from "./run-manifests.ts";
import { withServer, type ServerAccess } from "../server-access.ts";
import { servingPair, type ServingPair } from "./webhook-pair.ts";
import { registerWebhook } from "./webhook-registration.ts";
import { serveWebhook } from "./webhook-server.ts";
import { yamlText } from "../yaml-text.ts";
import { renewalLoop } from "../../hub/renewal-loop.ts";

/** Serves admission for access requests until a signal, or prints the configurations that lead there. */
export async function runWebhook(args: Args, io: Io): Promise<ExitName> {
  const place = placeOfWebhook(args);
  const olderAddOns = asksForOlderAddOns(args);
  await checkServing(args, io);
  const pairOf = (): Promise<ServingPair> => servingPair({ args, io, place, commonName: "pratique-webhook" });
  if (args.on("print-configuration")) {
    const inventory = args.on("node-inventory") ? "configmaps" : "unguarded";
    const pair = await pairOf();
    const clusters = args.on("managed-clusters") ? clusterWebhookConfigurations(place, pair.caPem) : [];
    const converted = olderAddOns ? [convertedAddOns(place, pair.caPem)] : [];
    io.stdout.write(
      [...webhookConfigurations(place, pair.caPem, { inventory }), ...clusters, ...converted]
        .map(yamlText)
        .join("---\n"),
    );
    return "ok";
  }
  const log = logTo(args, io);
  await warnOfOpenSecrets([args.text("tls-private-key-file")], io, { warn: warnInLog(log) });
  await withServer(
    args,
    io,
    async (server) => {
      const ca = await caToHandOut(args, io, server);
      // Made last: a kubeconfig or CA that cannot be used leaves no CA of the webhook's own behind.
      await serve({ args, io, server, pair: await pairOf(), pins: ca.pins, log });
    },
    warnInLog(log),
  );
  log(logEntry("Stopped", "the webhook stopped"));
  return "ok";
}

function placeOfWebhook(args: Args): WebhookPlace {
  const [namespace = "", name = "", more] = (args.text("service") ?? "").split("/");
  if (namespace === "" || name === "" || more !== undefined)
    throw new CliError("usage", `--service ${JSON.stringify(args.text("service"))}: must be NAMESPACE/NAME`);
  const url = args.text("url");
  return url === undefined ? { service: { namespace, name } } : placeOf(url, namespace, "--url");
}

interface Serving {
  readonly args: Args;
  readonly io: Io;
  readonly server: ServerAccess;
  readonly pair: ServingPair;
  /** Of the CA that machines are given. */
  readonly pins: readonly string[];
  readonly log: (entry: LogEntry) => void;
}

const drainMs = 5_000;

async function serve(serving: Serving): Promise<void> {
  const port = servingPort(serving.args);
  const stop = serving.io.interrupted();
  // Where nothing can be served, nothing is watched any longer either.
  const failed = new AbortController();
  try {
    await serveGuarded({ ...serving, port, stop }, await guarded(serving, AbortSignal.any([stop, failed.signal])));
  } finally {
    failed.abort();
  }
}

interface GuardedServing extends Serving {
  readonly port: number;
  readonly stop: AbortSignal;
}

async function serveGuarded(serving: GuardedServing, { reviews, ready, stopped }: Guard): Promise<void> {
  const { args, io, server, pair, log, port, stop } = serving;
  let isReady = false;
  const clientCaFile = args.text("client-ca-file");
  const listening = await serveWebhook({
    ...pair.current(),
    caPem: pair.caPem,
    host: args.text("bind-address") ?? "",
    port,
    clientCaPem: clientCaFile === undefined ? undefined : await readText("client-ca-file", clientCaFile, io),
    reviews,
    clusters: clustersOf(serving),
    conversion: args.on("older-add-ons") ? answeredConversion : undefined,
    isReady: () => isReady,
    certificateProblem: pair.problem,
    clock: io.clock,
    onFault: (error) =>
      log(logEntry("ReviewFailed", "the webhook cannot answer a review", { error: failureOf(error).message })),
    acceptFailed: acceptFailureLog({ log, now: () => performance.now(), server: "the webhook" }),
  });
  log(logEntry("Listening", "the webhook listens", { port: listening.port }));
  const names = [webhookConfigurationName, ...(args.on("managed-clusters") ? [clusterWebhookName] : [])];
  const conversions = args.on("older-add-ons") ? [addOnConversion(placeOfWebhook(args))] : [];
  const { client } = server;
  const registered = args.on("register")
    ? registerWebhook({ client, clock: io.clock, caPem: pair.caPem, names, conversions, log, signal: stop })
    : Promise.resolve();
  void ready.then((synced) => {
    isReady = synced;
    if (synced) log(logEntry("Ready", "the webhook answers reviews"));
  });
  await renewalLoop({
    clock: io.clock,
    signal: stop,
    renewIfDue: () => pair.look(listening.renew),
    failed: (error) =>
      log(logEntry("CertificateRenewalFailed", "the webhook cannot renew its serving certificate", { error })),
  });
  log(logEntry("Stopping", "the webhook stops: reviews in progress may finish; a second signal ends it at once"));
  await listening.close(drainMs);
  await Promise.all([registered, stopped]);
}

/** What guards managed clusters, where they are a concern. */
function clustersOf({ args, io, server: { client } }: Serving): ClusterReviews | undefined {
  if (!args.on("managed-clusters")) return undefined;
  const may = subjectAccess(client);
  return clusterReviews([
    managedClusterAdmission({
      may,
      namespaceOf: (name) => getOrUndefined(client, namespaces, { name }),
      now: () => io.clock.now(),
    }),
    clusterAddOnAdmission(may),
  ]);
}

interface Guard {
  readonly reviews: AccessReviews;
  /** Whether all requests and profiles have been seen. */
  readonly ready: Promise<boolean>;
  readonly stopped: Promise<unknown>;
}

/** The plugins of a hub, over what informers see of the cluster. */
async function guarded({ args, io, server, pins, log }: Serving, signal: AbortSignal): Promise<Guard> {
  const { client } = server;
  const { clock } = io;
  log(logEntry("TrustBundleSelected", "proofs must name this CA", { pins }));
  const follow = (resource: Resource): ReturnType<typeof informer> =>
    informer({
      client,
      resource,
      clock,
      random: Math.random,
      backoff: { initialMs: 200, maxMs: 10_000 },
      onError: (error) =>
        log(
          logEntry("WatchFailed", "a watch failed; the webhook starts it again", {
            resource: resource.plural,
            error: failureOf(error).message,
          }),
        ),
    });
  const [requests, profiles] = [follow(accessRequests), follow(accessProfiles)];
  const now = (): number => clock.now();
  const inAll = args.number("requests-per-minute") ?? 0;
  const may = subjectAccess(client);
  const profileOf = (name: string | undefined): AccessProfile | undefined =>
    profileFor(profiles.list() as readonly AccessProfile[], name);
  const requestOf = (name: string): AccessRequest | undefined => requests.get({ name }) as AccessRequest | undefined;
  const owners = { accountOf: accountsOf(client), requestOf };
  const reviews = accessReviews([
    accessRequestAdmission({
      lookups: {
        profileOf,
        requestOf,
        pending: () => requests.list().filter((request) => stateOf(request) === "Pending").length,
        caPins: () => pins,
      },
      may,
      // Where a request comes from is not known here: the limit on all is the only one.
      take: addressLimit({ perAddress: inAll, inAll, now }),
      maxPending: args.number("max-pending") ?? 0,
      now,
    }),
    accessProfileAdmission(may),
    accessAccountAdmission({ lookups: owners, may }),
    accessTokenAdmission({ profileOf, ...owners }, may),
    nodeInventoryAdmission(may),
    namespaceWarning(client),
  ]);
  const ready = Promise.all([requests.synced, profiles.synced]).then((synced) => synced.every(Boolean));
  return { reviews, ready, stopped: Promise.all([requests.run(signal), profiles.run(signal)]) };
}

interface Reviewed extends ApiObject {
  readonly status?: { readonly allowed?: boolean; readonly reason?: string };
}

/** Asks the cluster what somebody may do. */
function subjectAccess(client: Client): AccessCheck {
  return async ({ user, ...resourceAttributes }) => {
    const { username, uid, groups, extra } = user;
    const spec = {
      user: username,
      groups,
      ...(uid === undefined || uid === "" ? {} : { uid }),
      ...(extra === undefined ? {} : { extra }),
      resourceAttributes,
    };
    const asked = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", metadata: {}, spec };
    const { status } = await client.create<Reviewed>(subjectAccessReviews, asked);
    return { allowed: status?.allowed === true, reason: status?.reason ?? "" };
  };
}
