import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { objectOf } from "../registry/entry.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { accessRequests, stateOf } from "../apis/access-request.ts";
import { csrConditionCell } from "../apis/csr-conditions.ts";
import { certificateSigningRequests } from "../apis/certificate-signing-request.ts";
import { isAccepted, managedClusters } from "../apis/managed-cluster.ts";
import { storagePrefix, type Resource } from "../apis/resource.ts";
import type { Store } from "../storage/store.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import type { Authorities } from "../ca/ca-folder.ts";
import { certificateTimes } from "../ca/hub-certificates.ts";
import { familiesText, histogramText, labelText, type Family, type Sample } from "../metrics/family.ts";

/** The state of the hub at the time of a scrape. */
export interface ObjectMetricsOptions {
  readonly store: Pick<Store, "condition" | "usage">;
  readonly cache: Pick<WatchCache, "list" | "count">;
  /** All served kinds. */
  readonly resources: () => readonly Resource[];
  readonly authorities: () => Authorities;
  /** The folder of the serving certificate. */
  readonly pkiDir: string;
  readonly dataDir: string;
  /** The body of `/version`. */
  readonly version: object;
  readonly now: () => number;
}

/** The store, undecided requests, certificates and the build, as Prometheus text, read at each scrape. */
export function objectMetrics(parts: ObjectMetricsOptions): () => Promise<string> {
  return async () => {
    const [store, certificates] = await Promise.all([storeText(parts.store), certificateFamily(parts)]);
    return [
      store,
      familiesText([objectsFamily(parts), ...pendingFamilies(parts), certificates, buildFamily(parts.version)]),
    ].join("");
  };
}

async function storeText(store: ObjectMetricsOptions["store"]): Promise<string> {
  const { refusal, commits } = store.condition();
  const usage = await store.usage().catch(() => undefined);
  const gauge = (name: string, help: string, value: number | undefined): readonly Family[] =>
    value === undefined ? [] : [{ name: `pratique_store_${name}`, type: "gauge", help, samples: [["", value]] }];
  const reasons = ["full", "quota", "unwritten", "unknown", "corrupt"];
  const families: readonly Family[] = [
    ...gauge("writable", "1 while the store takes writes, 0 while it refuses them.", refusal === undefined ? 1 : 0),
    {
      name: "pratique_store_refusal",
      type: "gauge",
      help: "1 for the reason why the store refuses writes now.",
      samples: reasons.map((reason) => [labelText({ reason }), refusal?.code === reason ? 1 : 0]),
    },
    ...gauge("size_bytes", "Length of the data file, with what is kept free in it.", usage?.sizeBytes),
    ...gauge("used_bytes", "What records and their tree take of the data file.", usage?.usedBytes),
    ...gauge("quota_bytes", "What records and their tree may take before writes are refused.", usage?.quotaBytes),
    ...gauge("free_bytes", "Bytes that are free on the file system of the store.", usage?.freeBytes),
  ];
  return (
    familiesText(families) +
    histogramText({
      name: "pratique_store_commit_duration_seconds",
      help: "How long commits took until they were durable.",
      bounds: commits.bounds,
      series: [{ labels: "", buckets: commits.buckets, sum: commits.seconds }],
    })
  );
}

/** Objects by kind, counted once for all served versions. Source: apiserver pkg/storage/etcd3/metrics, 1.34 on. */
function objectsFamily({ cache, resources }: ObjectMetricsOptions): Family {
  const stored = resources().filter(({ verbs }) => verbs.includes("list"));
  const byKind = new Map(stored.map((one) => [labelText({ group: one.group, resource: one.plural }), one]));
  return {
    name: "apiserver_resource_objects",
    type: "gauge",
    help: "Number of objects that the hub keeps, by kind.",
    samples: [...byKind].map(([labels, resource]): Sample => [labels, cache.count(storagePrefix(resource))]),
  };
}

const pendingKinds: readonly {
  readonly name: string;
  readonly prefix: string;
  readonly isPending: (object: ApiObject) => boolean;
}[] = [
  {
    name: "certificatesigningrequests",
    prefix: storagePrefix(certificateSigningRequests),
    isPending: (object) => csrConditionCell(object).startsWith("Pending"),
  },
  {
    name: "accessrequests",
    prefix: storagePrefix(accessRequests),
    isPending: (object) => stateOf(object) === "Pending",
  },
  { name: "managedclusters", prefix: storagePrefix(managedClusters), isPending: (object) => !isAccepted(object) },
];

function pendingFamilies({ cache, now }: ObjectMetricsOptions): readonly Family[] {
  const found = pendingKinds.map(({ name, prefix, isPending }) => {
    let [count, oldest] = [0, now()];
    for (const entry of cache.list(prefix)) {
      const object = objectOf(entry);
      if (!isPending(object)) continue;
      count += 1;
      oldest = Math.min(oldest, Date.parse(object.metadata.creationTimestamp ?? "") || oldest);
    }
    return { labels: labelText({ resource: name }), count, age: Math.max(0, now() - oldest) / 1000 };
  });
  const samples = (valueOf: (one: (typeof found)[number]) => number): readonly Sample[] =>
    found.map((one) => [one.labels, valueOf(one)]);
  return [
    {
      name: "pratique_pending_requests",
      type: "gauge",
      help: "Requests that wait for a decision.",
      samples: samples(({ count }) => count),
    },
    {
      name: "pratique_pending_request_oldest_age_seconds",
      type: "gauge",
      help: "How long the oldest of them has waited; 0 where none waits.",
      samples: samples(({ age }) => age),
    },
  ];
}

async function certificateFamily({ authorities, pkiDir, dataDir }: ObjectMetricsOptions): Promise<Family> {
  const serving = await textOf(join(pkiDir, "apiserver.crt"));
  const kubeconfig = await textOf(join(dataDir, "admin.kubeconfig"));
  const data = /client-certificate-data: ["']?([\w+/=]+)/.exec(kubeconfig)?.[1] ?? "";
  const ends: readonly (readonly [string, number | undefined])[] = [
    ["ca", authorities().signer.notAfter],
    ["serving", endOf(serving)],
    ["admin.kubeconfig", endOf(Buffer.from(data, "base64").toString())],
  ];
  return {
    name: "pratique_certificate_expiration_timestamp_seconds",
    type: "gauge",
    help: "When certificates of the hub itself end, in seconds since the epoch.",
    samples: ends.flatMap(([certificate, end]) =>
      end === undefined ? [] : [[labelText({ certificate }), end / 1000] as const],
    ),
  };
}

async function textOf(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}

function endOf(pem: string): number | undefined {
  if (pem === "") return undefined;
  try {
    return certificateTimes(pem).notAfter;
  } catch {
    return undefined;
  }
}

/** Source: component-base metrics, kubernetes_build_info. */
function buildFamily(version: object): Family {
  const of = new Map(Object.entries(version).map(([name, value]) => [name, String(value)]));
  const labels = {
    build_date: of.get("buildDate") ?? "",
    compiler: of.get("compiler") ?? "",
    git_commit: of.get("gitCommit") ?? "",
    git_tree_state: of.get("gitTreeState") ?? "",
    git_version: of.get("gitVersion") ?? "",
    go_version: of.get("goVersion") ?? "",
    major: of.get("major") ?? "",
    minor: of.get("minor") ?? "",
    platform: of.get("platform") ?? "",
  };
  return {
    name: "kubernetes_build_info",
    type: "gauge",
    help: "1, with the version of the API and the build that serves it.",
    samples: [[labelText(labels), 1]],
  };
}
