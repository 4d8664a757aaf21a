import type { ControllerOptions, SharedInformers, Selection } from "../shared-informers.ts";
import {
  clusterInfoKey,
  clusterInfoKubeconfig,
  parseClusterInfo,
  type ClusterInfo,
  signClusterInfo,
} from "../../trust/cluster-info.ts";
import { hasReason, isTerminating, ignoreReasons } from "../../client/api-errors.ts";
import { done, type Controller, type Outcome, referenceTo } from "../controller.ts";
import { configMaps, namespaces, secrets } from "../kinds.ts";
import { certificatesOfBundle } from "../../trust/pins.ts";
import { validForSigning, tokenLifetime } from "../../trust/token-rules.ts";
import { sameUid } from "../object-status.ts";
import type { ObjectKey } from "../../apimachinery/object.ts";
import { tokenSecretNamespace, tokenSecretType } from "../../trust/token-secret.ts";

const serviceAccount = "root-ca-cert-publisher";

export interface ClusterInfoPublisherOptions {
  readonly informers: SharedInformers;
  /** The server address and CA for joining machines. */
  readonly info: ClusterInfo;
}

/**
 * Creates `kube-public/cluster-info` where it is missing, and corrects its kubeconfig when server or CA are not those of the hub. The
 * bootstrap signer maintains the signatures. It acts as root-ca-cert-publisher, which may write ConfigMaps everywhere.
 */
export function clusterInfoPublisher(options: ClusterInfoPublisherOptions): Controller {
  const { info } = options;
  const { client, reader } = options.informers.as(serviceAccount);
  const clusterInfo = reader(clusterInfoSelection);

  async function reconcile(): Promise<Outcome> {
    const current = clusterInfo.get(clusterInfoKey);
    const data = (current?.["data"] ?? {}) as Readonly<Record<string, string>>;
    const kubeconfig = neededKubeconfig(data["kubeconfig"], info);
    if (kubeconfig === undefined) return done;
    try {
      if (current === undefined) {
        const made = { apiVersion: "v1", kind: "ConfigMap", metadata: { ...clusterInfoKey }, data: { kubeconfig } };
        await client.create(configMaps, made);
      } else {
        await client.update(configMaps, { ...current, data: { ...data, kubeconfig } });
      }
    } catch (error) {
      // The namespace or the ConfigMap changed meanwhile; that change wakes the key again.
      if (!hasReason(error, "AlreadyExists", "NotFound", "Conflict") && !isTerminating(error)) throw error;
    }
    return done;
  }

  const keys = (): readonly [typeof clusterInfoKey] => [clusterInfoKey];
  return {
    name: "cluster-info-publisher",
    serviceAccount,
    watches: [
      { ...clusterInfoSelection, keys },
      { resource: namespaces, fieldSelector: `metadata.name=${clusterInfoKey.namespace}`, keys },
    ],
    concurrency: 1,
    reconcile,
  };
}

/** The one ConfigMap `kube-public/cluster-info`. */
const clusterInfoSelection: Selection = {
  resource: configMaps,
  namespace: clusterInfoKey.namespace,
  fieldSelector: `metadata.name=${clusterInfoKey.name}`,
};

/**
 * The required kubeconfig of cluster-info, or undefined when the present one already names this server and exactly these CA certificates:
 * the tokens sign its bytes, so they change only when their contents are wrong.
 */
export function neededKubeconfig(present: string | undefined, wanted: ClusterInfo): string | undefined {
  const parsed = present === undefined ? undefined : parseClusterInfo(present);
  const right =
    parsed?.kind === "parsed" &&
    parsed.server === wanted.server &&
    fingerprintsOf(parsed.caPem) === fingerprintsOf(wanted.caPem);
  return right ? undefined : clusterInfoKubeconfig(wanted);
}

function fingerprintsOf(caPem: string): string {
  return certificatesOfBundle(caPem)
    .map((certificate) => certificate.pem)
    .toSorted()
    .join("");
}

/**
 * Maintains the signatures of signing tokens in `kube-public/cluster-info`. It never creates the ConfigMap and never changes its
 * kubeconfig. Source: Kubernetes pkg/controller/bootstrap.
 */
export function bootstrapSigner(options: ControllerOptions): Controller {
  const { clock } = options;
  const { client, reader } = options.informers.as("bootstrap-signer");
  const clusterInfo = reader(clusterInfoSelection);
  const tokens = reader(tokenSecretSelection);

  async function reconcile(): Promise<Outcome> {
    const current = clusterInfo.get(clusterInfoKey);
    if (current === undefined) return done;
    const now = clock.now();
    // In order of name, so that "the first of two with one id" means the same each time.
    const signing = tokens
      .list()
      .toSorted((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1))
      .flatMap((secret) => validForSigning(secret, now) ?? []);
    const data = signClusterInfo((current["data"] ?? {}) as Readonly<Record<string, string>>, signing);
    if (data === undefined) return done;
    // A ConfigMap that another writer changed or removed wakes this controller again.
    await ignoreReasons(client.update(configMaps, { ...current, data }), "NotFound", "Conflict");
    return done;
  }

  const keys = (): readonly [typeof clusterInfoKey] => [clusterInfoKey];
  return {
    name: "bootstrapsigner",
    serviceAccount: "bootstrap-signer",
    watches: [
      { ...clusterInfoSelection, keys },
      { ...tokenSecretSelection, keys },
    ],
    concurrency: 1,
    reconcile,
  };
}

/** Deletes bootstrap tokens when they expire; an unreadable expiration counts as expired. Source: Kubernetes pkg/controller/bootstrap. */
export function tokenCleaner(options: ControllerOptions): Controller {
  const { clock } = options;
  const { client, reader } = options.informers.as("token-cleaner");
  const tokens = reader(tokenSecretSelection);

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const secret = tokens.get(key);
    if (secret === undefined) return done;
    const life = tokenLifetime(secret, clock.now());
    if (life.kind === "forever") return done;
    if (life.kind === "expires") return { kind: "requeue", afterMs: life.afterMs, why: "not expired yet" };
    try {
      await client.delete(secrets, key, sameUid(secret));
    } catch (error) {
      if (!hasReason(error, "NotFound", "Conflict")) throw error;
      return done;
    }
    const about = referenceTo(secrets, secret);
    return { kind: "done", reports: [{ reason: "BootstrapTokenExpired", about, message: "bootstrap token expired" }] };
  }

  return {
    name: "tokencleaner",
    serviceAccount: "token-cleaner",
    watches: [tokenSecretSelection],
    concurrency: 4,
    reconcile,
  };
}

/** The Secrets of bootstrap tokens. */
const tokenSecretSelection: Selection = {
  resource: secrets,
  namespace: tokenSecretNamespace,
  fieldSelector: `type=${tokenSecretType}`,
};
