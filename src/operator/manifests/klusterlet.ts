import { rule } from "../../authorization/bootstrap-policy/policy-object.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import type { PolicyRule } from "../../apis/rbac.ts";
import { clusterGroup } from "../../apis/managed-cluster.ts";
import { hubSecretName, stateSecretName } from "../../credentials/storage/secret-store.ts";
import { account, accountObject, granted, namespaceObject } from "./rbac.ts";
import { deployment, healthPort, mountedKubeconfig, ownKubeconfig } from "./deployment.ts";

/** How the agent of a cluster runs in it. */
export interface KlusterletWorkload {
  readonly namespace: string;
  readonly image: string;
  readonly clusterName: string | undefined;
  readonly externalServers: readonly string[];
  /** The kubeconfig with which it calls the hub; undefined where its Secret is created by other means. */
  readonly bootstrap: string | undefined;
  /** Whether it creates and labels the namespaces that cluster sets require. */
  readonly managedNamespaces: boolean;
  /** Whether it runs elsewhere: then the result has only its account and rights. */
  readonly outside: boolean;
}

/** The account of the agent, and the name of its objects. */
const name = "pratique-klusterlet";
const role = "pratique:klusterlet";
/** The name that OCM uses. */
const bootstrapSecretName = "bootstrap-hub-kubeconfig";
const bootstrapFolder = "/var/run/pratique/bootstrap";

/** Namespace, account, rights, Secrets and Deployment of a cluster's agent, in the order of creation. */
export function klusterletObjects(options: KlusterletWorkload): readonly ApiObject[] {
  const { namespace, bootstrap, outside, managedNamespaces } = options;
  const agent = account(name, namespace);
  const secret = (called: string, fields: object = {}): ApiObject => ({
    apiVersion: "v1",
    kind: "Secret",
    type: "Opaque",
    metadata: { name: called, namespace },
    ...fields,
  });
  return [
    namespaceObject(namespace),
    accountObject(name, namespace),
    ...granted({ name: role }, agent, spokeRules(managedNamespaces)),
    ...granted({ name: role, namespace }, agent, [
      rule("get update", "core", "secrets", [hubSecretName, stateSecretName]),
    ]),
    // A subject that may create Secrets can request tokens of other accounts in them: so they are created here, and the agent may not.
    ...[hubSecretName, stateSecretName].map((one) => secret(one)),
    ...(bootstrap === undefined ? [] : [secret(bootstrapSecretName, { stringData: { kubeconfig: bootstrap } })]),
    ...(outside ? [] : [ownKubeconfig(namespace), klusterletDeployment(options)]),
  ];
}

function spokeRules(managedNamespaces: boolean): readonly PolicyRule[] {
  return [
    { nonResourceURLs: ["/livez", "/version"], verbs: ["get"] },
    rule("list", "core", "nodes"),
    rule("list", clusterGroup, "clusterclaims"),
    rule(managedNamespaces ? "create get list patch" : "list", "core", "namespaces"),
  ];
}

/** One replica: two agents do not lock the same Secret. */
function klusterletDeployment(options: KlusterletWorkload): ApiObject {
  const { namespace, clusterName, externalServers } = options;
  return deployment(options, {
    name,
    replicas: 1,
    args: [
      "klusterlet",
      `--bootstrap-kubeconfig=${bootstrapFolder}/kubeconfig`,
      ...(clusterName === undefined ? [] : [`--cluster-name=${clusterName}`]),
      `--spoke-kubeconfig=${mountedKubeconfig}`,
      `--namespace=${namespace}`,
      ...externalServers.map((url) => `--external-server=${url}`),
      `--health-address=0.0.0.0:${healthPort}`,
      "--log-format=json",
    ],
    port: { name: "health", containerPort: healthPort },
    scheme: "HTTP",
    strategy: { type: "Recreate" },
    mounts: [
      {
        name: "bootstrap",
        mountPath: bootstrapFolder,
        readOnly: true,
        // It can be deleted once the cluster has joined.
        source: { secret: { secretName: bootstrapSecretName, optional: true, defaultMode: 0o440 } },
      },
    ],
  });
}
