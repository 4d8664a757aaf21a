import { randomUUID } from "node:crypto";
import type { Client } from "../client/client.ts";
import { environmentProxy } from "../client/environment-proxy.ts";
import { logEntry } from "../apimachinery/log-entry.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { entryVersions } from "../registry/conversion.ts";
import { type Registry, registry } from "../registry/registry.ts";
import type { Turns } from "../registry/turns.ts";
import { builtinResources } from "../apis/builtin.ts";
import { conversionByWebhook } from "../apis/custom/conversion-review.ts";
import { hubAdmission } from "./admission/admission.ts";
import { type AdmissionMetrics, admissionMetrics } from "../admission/metrics.ts";
import { type Authentication, openAuthentication } from "./authentication.ts";
import { type Authorization, openAuthorization } from "./authorization.ts";
import { type ClientMetrics, clientMetrics } from "../client/metrics.ts";
import { type CustomResources, customResources } from "./custom-resources.ts";
import type { HubOptions } from "./hub-options.ts";
import type { HubBase } from "./hub-state.ts";
import { inProcessClient } from "../registry/in-process-client.ts";
import { loopTurns } from "../apiserver/event-loop.ts";
import { reviews } from "../registry/reviews.ts";
import { systemRandom } from "../host/system-random.ts";
import { tokenRequests } from "./token-requests.ts";
import { webhookCaller } from "../webhooks/webhook-caller.ts";

/** Authentication and authorization, and the verbs under their rules. */
export interface Decisions {
  readonly access: Authorization;
  readonly identity: Authentication;
  readonly verbs: Registry;
  readonly clientOf: (user: UserInfo) => Client;
  readonly custom: CustomResources;
  /** Counters of admission and of the clients inside the hub. */
  readonly counts: { readonly admission: AdmissionMetrics; readonly clients: ClientMetrics };
  /** Yields between parts of long work in the event loop of this process. */
  readonly turns: Turns;
}

/** Builds authorization, authentication, admission and the verbs over the state; close functions are in `closers`. @throws HubError */
export async function openDecisions(options: HubOptions, base: HubBase): Promise<Decisions> {
  const { store, cache, clock, closers, clusters, recordWrite } = base;
  const turns = loopTurns();
  const access = await openAuthorization(options, { cache, clock, turn: turns.next });
  closers.push(async () => access.close());
  const identity = await openAuthentication(options, base, access);
  const { call, close } = webhookCaller({ proxyOf: (server) => environmentProxy(server, process.env) });
  closers.push(async () => close());
  const counts = { admission: admissionMetrics(monotonic), clients: clientMetrics(monotonic) };
  const versions = entryVersions();
  const custom = customResources({
    cache,
    builtin: [...builtinResources, ...(clusters?.resources ?? [])],
    converter: (crd) =>
      crd.spec.conversion?.strategy === "Webhook"
        ? conversionByWebhook(crd, { call, uuid: randomUUID })
        : clusters?.conversionOf(crd.metadata.name ?? ""),
    failed: (name, error) =>
      options.log(logEntry("CustomResourceNotServed", "the hub cannot serve a custom resource", { name, error })),
  });
  const { resources, lifeOf } = custom;
  const admitting = { ...base, access, versions, resources, call, metrics: counts.admission, turns };
  const admission = hubAdmission(options, admitting);
  const { chain, rules, index, uses } = access;
  const verbs = registry({
    backend: { store, cache, admission, versions, turns, uuid: randomUUID, random: systemRandom },
    resources,
    lifeOf,
    reviews: {
      ...reviews({
        chain,
        rules,
        authenticate: identity.credentials,
        explaining: { index, uses, resources, turn: turns.next },
      }),
      ...clusters?.answers((resource, request) => verbs.create(resource, request)),
    },
    created: { "serviceaccounts/token": tokenRequests(base) },
  });
  const clientOf = (user: UserInfo): Client => {
    access.enlist(user);
    const inside = { registry: verbs, authorizer: access.inside, clock, user, recordWrite };
    return counts.clients.counted(inProcessClient({ ...inside, turn: () => turns.next(user.username) }));
  };
  return { access, identity, verbs, clientOf, custom, counts, turns };
}

/** Milliseconds of a monotonic clock. */
const monotonic = (): number => performance.now();
