import { failureMessage, getOrUndefined } from "../client/api-errors.ts";
import { type AccountLookups, accessAccountAdmission, accessTokenAdmission } from "../admission/access-accounts.ts";
import { accessProfileAdmission } from "../admission/access-profiles.ts";
import { accessRequestAdmission } from "../admission/access-requests.ts";
import type { AccessCheck, AdmissionPlugin } from "../admission/admission.ts";
import { type AccessReviews, accessReviews } from "../admission/access-reviews.ts";
import { addressLimit } from "../admission/address-limit.ts";
import { clusterAddOnAdmission, nodeInventoryAdmission } from "../admission/required-rights.ts";
import { type ClusterReviews, clusterReviews } from "../admission/cluster-reviews.ts";
import { managedClusterAdmission } from "../admission/managed-clusters.ts";
import type { Client } from "../client/client.ts";
import { informer } from "../client/informer.ts";
import { subjectAccessReviews } from "../controllers/kinds.ts";
import { profileFor } from "../controllers/access/access-request-policy.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { logEntry } from "../apimachinery/log-entry.ts";
import { type AccessProfile, accessProfiles } from "../apis/access-profile.ts";
import { type AccessRequest, accessRequests, stateOf } from "../apis/access-request.ts";
import { answeredConversion } from "../apis/add-on-versions.ts";
import { namespaces } from "../apis/namespace.ts";
import type { Resource } from "../apis/resource.ts";
import {
  type WebhookPlace,
  addOnConversion,
  clusterWebhookName,
  clusterWebhookPaths,
  machinesLabel,
  webhookConfigurationName,
  webhookPaths,
} from "./manifests/webhook-configurations.ts";
import type { SecureServing, ServingPair } from "./serving/secure-serving.ts";
import { type JsonServerOptions, serveReviews } from "./serving/json-server.ts";
import { registerWebhook } from "./webhook-registration.ts";
import type { World } from "./world.ts";
import type { ReviewStage } from "../admission/review-answer.ts";
import { serviceAccounts } from "../apis/service-account.ts";

export interface WebhookOptions {
  readonly serving: SecureServing;
  /** The address at which kube-apiserver calls the webhook. */
  readonly place: WebhookPlace;
  /** Whether it validates managed clusters too. */
  readonly managedClusters: boolean;
  /** Whether it converts add-ons of the older version. */
  readonly olderAddOns: boolean;
  /** Whether it writes its CA into its configurations. */
  readonly register: boolean;
  /** The limit on new access requests from all addresses together. */
  readonly requestsPerMinute: number;
  readonly maxPending: number;
}

/** The webhook and its dependencies. */
interface Webhook {
  readonly options: WebhookOptions;
  readonly world: World;
  readonly client: Client;
  readonly pair: ServingPair;
  /** Pins of the CA that machines receive. */
  readonly pins: readonly string[];
  readonly signal: AbortSignal;
}

/** Serves admission for access requests on any Kubernetes until `signal` aborts. @throws OptionError */
export async function serveWebhook(webhook: Webhook): Promise<void> {
  const { options, world, client, pair, pins, signal } = webhook;
  const { clock, log } = world;
  // Where the server fails, the informers stop too.
  const failed = new AbortController();
  log(logEntry("TrustBundleSelected", "proofs must name this CA", { pins }));
  try {
    const { reviews, ready, stopped } = accessGuard(webhook, AbortSignal.any([signal, failed.signal]));
    let isReady = false;
    await serveReviews({
      program: "the webhook",
      serving: options.serving,
      pair,
      world,
      signal,
      ...webhookAnswers({
        reviews,
        clusters: options.managedClusters ? clusterGuard(client, () => clock.now()) : undefined,
        conversion: options.olderAddOns ? answeredConversion : undefined,
      }),
      isReady: () => isReady,
      whileServing: async () => {
        void ready.then((synced) => {
          isReady = synced;
          if (synced) log(logEntry("Ready", "the webhook answers reviews"));
        });
        await Promise.all([registered(webhook), stopped]);
      },
    });
  } finally {
    failed.abort();
  }
}

async function registered({ options, world, client, pair, signal }: Webhook): Promise<void> {
  if (!options.register) return;
  const names = [webhookConfigurationName, ...(options.managedClusters ? [clusterWebhookName] : [])];
  const conversions = options.olderAddOns ? [addOnConversion(options.place)] : [];
  const { clock, log } = world;
  await registerWebhook({ client, clock, caPem: pair.caPem, names, conversions, log, signal });
}

/** The admission plugins for managed clusters. */
function clusterGuard(client: Client, now: () => number): ClusterReviews {
  const may = subjectAccess(client);
  return clusterReviews([
    managedClusterAdmission({
      may,
      namespaceOf: (name) => getOrUndefined(client, namespaces, { name }),
      now,
    }),
    clusterAddOnAdmission(may),
  ]);
}

interface Guard {
  readonly reviews: AccessReviews;
  /** Whether the informers of requests and profiles have synced. */
  readonly ready: Promise<boolean>;
  readonly stopped: Promise<unknown>;
}

/** The admission plugins of a hub, over informers of the cluster. */
function accessGuard({ options, world, client, pins }: Webhook, signal: AbortSignal): Guard {
  const { clock, log } = world;
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
            error: failureMessage(error),
          }),
        ),
    });
  const [requests, profiles] = [follow(accessRequests), follow(accessProfiles)];
  const now = (): number => clock.now();
  const inAll = options.requestsPerMinute;
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
      maxPending: options.maxPending,
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

/** Checks access with SubjectAccessReviews of the cluster. */
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

export interface WebhookReviews {
  readonly reviews: AccessReviews;
  /** Absent where the webhook does not validate clusters. */
  readonly clusters?: ClusterReviews | undefined;
  /** Answers ConversionReviews; absent where the webhook converts nothing. */
  readonly conversion?: ((review: unknown) => unknown) | undefined;
}

type Stage = readonly [path: string, stage: ReviewStage, by: AccessReviews | ClusterReviews | undefined];

/** The handlers of AdmissionReviews and ConversionReviews, by path. */
export function webhookAnswers({
  reviews,
  clusters,
  conversion,
}: WebhookReviews): Pick<JsonServerOptions, "answerTo" | "takesAnyJson"> {
  const { mutate, validate, validateBinding, validateAddOn } = clusterWebhookPaths;
  const stages: readonly Stage[] = [
    [webhookPaths.mutate, "mutating", reviews],
    [webhookPaths.validate, "validating", reviews],
    [mutate, "mutating", clusters],
    ...[validate, validateBinding, validateAddOn].map((path) => [path, "validating", clusters] as const),
  ];
  return {
    takesAnyJson: isConversion,
    answerTo: (path) => {
      if (conversion !== undefined && isConversion(path)) return async (asked) => conversion(asked);
      const [, stage, by] = stages.find(([known, , answers]) => answers !== undefined && path.endsWith(known)) ?? [];
      return stage && by && (async (asked) => by(stage, asked));
    },
  };
}

function isConversion(path: string): boolean {
  return path.endsWith(clusterWebhookPaths.convert);
}

/** Reads an account from the cluster, uncached. */
function accountsOf(client: Client): AccountLookups["accountOf"] {
  return (namespace, name) => getOrUndefined(client, serviceAccounts, { namespace, name });
}

/** Warns the writer of a profile whose namespace lacks the machines label: the webhook does not see accounts and renewals there. */
function namespaceWarning(client: Client): AdmissionPlugin {
  return {
    name: "PratiqueAccessNamespace",
    validate: async ({ resource, object, warn }) => {
      if (resource !== accessProfiles || object === undefined) return;
      const { namespace: name } = (object as AccessProfile).spec;
      const labels = (await getOrUndefined(client, namespaces, { name }))?.metadata.labels ?? {};
      if (Object.hasOwn(labels, machinesLabel) && labels[machinesLabel] === "true") return;
      warn(
        `namespace ${name} has no label ${machinesLabel}=true: machines there may renew tokens beyond the profile, and with role edit untie their account from its request`,
      );
    },
  };
}
