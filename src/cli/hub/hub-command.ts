import { type Command, defineCommand, defineOptions } from "../command.ts";
import { logOptions } from "../shared-options.ts";

/** `pratique hub`. */
export const hubCommand: Command = defineCommand({
  name: "hub",
  summary: "Run a hub: an API server of Kubernetes with a CA, a store and controllers of its own",
  details: [
    "The hub stores everything in its data directory. The first start creates the CA and the objects that machines need to join. Each start writes admin.kubeconfig there: it belongs to group system:masters and is readable by its owner only.",
    "On SIGINT or SIGTERM the hub finishes the requests in flight and closes the store. A second signal ends the process at once.",
  ],
  options: [
    ...defineOptions({
      "--data-dir DIR = ./pratique-data": "the directory of the store, the CA and the admin kubeconfig",
      "--quota-backend-bytes BYTES = 0":
        "the maximum size of the store, in bytes of objects with their history; beyond it the hub rejects writes with 507, but not deletions, Leases and revocations. 0: 2 GiB, or an eighth of the memory that the hub may use beyond 128 MiB if that is less, and at least 16 MiB",
      "--revocations-from FILE":
        "a list of revocations that this hub has signed (pratique revocations export), or revocation lists of X.509 by its CA, to add before the port opens: after a restore, those that are missing in the backup",
      "--bind-address IP = 127.0.0.1": "the address to listen on; 0.0.0.0 or :: for all",
      "--secure-port PORT = 6443": "the port to listen on; 0 picks a free one",
      "--tls-san NAME...":
        "an additional name or address of the serving certificate; may be given several times. The hub announces the first one if it listens on all addresses",
      "--authorization-mode MODES...": {
        choices: ["Node", "RBAC", "ABAC", "Webhook", "AlwaysAllow", "AlwaysDeny"],
        description: "the authorization modes in their order; default Node,RBAC",
      },
      "--authorization-policy-file FILE": "the policies of mode ABAC, one JSON object on each line",
      "--authorization-webhook-config-file FILE": "the kubeconfig of the service that mode Webhook calls",
      "--authorization-webhook-version VERSION = v1beta1": {
        choices: ["v1", "v1beta1"],
        description: "the version of SubjectAccessReview that the hub sends to that service",
      },
      "--authorization-webhook-cache-authorized-ttl DURATION = 5m":
        "how long allowed decisions of that service are cached; 0 disables the cache",
      "--authorization-webhook-cache-unauthorized-ttl DURATION = 30s":
        "how long its other decisions are cached; 0 disables the cache",
      "--authorization-config FILE":
        "an AuthorizationConfiguration (apiserver.config.k8s.io/v1) in place of modes: several webhooks with conditions; read again when it changes",
      "--anonymous-auth = true":
        "serve requests without credentials as system:anonymous; joining with a token needs it",
      "--token-auth-file FILE": 'a CSV file of static tokens: token,user,uid,"group1,group2"',
      "--authentication-config FILE":
        "an AuthenticationConfiguration (apiserver.config.k8s.io/v1): issuers of JSON web tokens whose claims become users, and the paths that need no credential",
      "--oidc-issuer-url URL": "an OpenID Connect issuer whose tokens are accepted; with --oidc-client-id",
      "--oidc-client-id ID": "the client ID that must be an audience of the tokens of that issuer",
      "--oidc-username-claim CLAIM = sub": "the claim that holds the user name",
      "--oidc-username-prefix PREFIX":
        "the prefix of the user name; default the issuer and #, and none if the claim is email; - for none",
      "--oidc-groups-claim CLAIM": "the claim that holds the groups of the user",
      "--oidc-groups-prefix PREFIX":
        "the prefix of each group, such as oidc:, which keeps users of the issuer out of the hub's own groups",
      "--oidc-required-claim CLAIM=VALUE...":
        "a claim that tokens must have with this value; may be given several times",
      "--oidc-ca-file FILE": "the CAs of the issuer's serving certificate; default those of the system",
      "--oidc-signing-algs ALGS... = RS256": {
        choices: ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512"],
        description: "the signature algorithms that tokens of that issuer may have",
      },
      "--authentication-token-webhook-config-file FILE":
        "the kubeconfig of a service that authenticates tokens unknown to the other authenticators",
      "--authentication-token-webhook-version VERSION = v1beta1": {
        choices: ["v1", "v1beta1"],
        description: "the version of TokenReview that the hub sends to that service",
      },
      "--authentication-token-webhook-cache-ttl DURATION = 2m": "how long TokenReview results are cached",
      "--cluster-signing-cert-file FILE":
        "the certificate of a CA of your own, with its key in --cluster-signing-key-file",
      "--cluster-signing-key-file FILE": "the private key of that CA",
      "--cluster-signing-duration DURATION = 8760h":
        "the maximum duration of certificates that the hub signs; at least 10m",
      "--service-account-issuer ISSUER... = https://kubernetes.default.svc":
        "the issuer of ServiceAccount tokens; of several, new tokens have the first one, and all are accepted",
      "--service-account-signing-key-file FILE":
        "the private key that signs new tokens; without the flag the hub creates pki/sa.key",
      "--service-account-key-file FILE...":
        "additional keys, public or private in PEM, whose tokens are accepted, for the rotation of the signing key; may be given several times",
      "--api-audiences NAMES...": "the audiences of this API, one of which a token must have; default the issuers",
      "--service-account-max-token-expiration DURATION = 0":
        "the maximum duration of a token; at least 1h; 0 for no maximum",
      "--service-account-extend-token-expiration = true":
        "issue Pod tokens for a year if a kubelet requests the usual hour, as kube-apiserver does",
      "--no-node-autoapprove":
        "do not create the ClusterRoleBinding kubeadm:node-autoapprove-bootstrap, so that an approver decides on each machine; has an effect at the first start only",
      "--node-autoapprove-names-in-use":
        "also approve a machine that joins with another key under the name of a node with a valid certificate, for fleets that often reinstall machines; any holder of a token can then take the name of any node",
      "--serving-approval PROVIDERS...": {
        choices: ["inventory", "networks", "source-address", "dns"],
        description:
          "approve serving certificates of kubelets whose names these providers prove: the ConfigMap kube-system/pratique-node-inventory, networks in a file, the source address of the request, DNS together with another provider; default none, so that approvers decide",
      },
      "--serving-approval-config FILE":
        "a ServingApproval (pratique.dev/v1alpha1): networks of nodes, an inventory in CSV, additional names of the API",
      "--managed-clusters": "serve managed clusters: hub and spoke registration as in Open Cluster Management",
      "--registration-config FILE":
        "a ClusterRegistration (pratique.dev/v1alpha1): which identities join which clusters by automatic approval; with --managed-clusters",
      "--audit-policy-file FILE":
        "an audit policy (audit.k8s.io/v1); default every request at level Metadata; without any audit flag, health checks and similar requests are left out",
      "--enable-admission-plugins NAMES...":
        "admission plugins to enable in addition to the default ones, e.g. OwnerReferencesPermissionEnforcement",
      "--disable-admission-plugins NAMES...": "admission plugins to disable, e.g. ServiceAccount",
      "--audit-log-path FILE": {
        empty: "allowed",
        description:
          "the file to which audit events are appended, one JSON object on each line; - for stdout, none for no log (default audit/audit.log in the data directory)",
      },
      "--audit-log-format FORMAT = json": { choices: ["json"], description: "the format of events in that file" },
      "--audit-log-maxsize MB = 100": "the size in megabytes at which the file is rotated; 0 disables rotation",
      "--audit-log-maxbackup N = 10": "the maximum number of rotated files; 0 keeps all",
      "--audit-log-maxage DAYS = 30": "the maximum age of rotated files in days; 0 keeps them forever",
      "--audit-webhook-config-file FILE": "the kubeconfig of a service to which audit events are sent",
      "--audit-webhook-batch-max-size N = 400": "the maximum number of events in one batch",
      "--audit-webhook-batch-max-wait DURATION = 30s": "the maximum time that an event waits for its batch",
      "--audit-webhook-initial-backoff DURATION = 10s":
        "the time before the first retry of a failed batch; it grows with each retry",
      "--kubelet-preferred-address-types TYPES... = InternalIP,ExternalIP,Hostname":
        "the types of Node addresses by which the hub connects to kubelets, in order of preference",
      "--kubelet-certificate-authority FILE":
        "the CAs that sign serving certificates of kubelets, e.g. pki/ca.crt in the data directory; without it these certificates are not verified, as in kube-apiserver",
      "--max-requests-inflight N = 400":
        "the maximum number of requests in flight, to which --max-mutating-requests-inflight is added; further requests are queued by user, and get 429 when they wait too long",
      "--max-mutating-requests-inflight N = 200":
        "is added to --max-requests-inflight; the sum is the maximum number of requests in flight",
      "--max-watches-per-user N = 10000": "the maximum number of open watches of one user",
      "--access-requests-per-address N = 30":
        "the maximum number of access requests without a credential from one address per minute; an IPv6 network of 64 bits counts as one address",
      "--access-requests-per-minute N = 600":
        "the maximum number of access requests without a credential from all addresses per minute",
      "--access-requests-pending N = 1000":
        "the maximum number of pending access requests; one address may have a quarter of it",
    }),
    ...logOptions,
  ],
  examples: {
    "a hub for this machine": "hub",
    "a hub that others can reach as hub.example": "hub --bind-address 0.0.0.0 --tls-san hub.example",
  },
  run: async (args, io) => (await import("./run-hub.ts")).runHub(args, io),
});
