import { type Command, defineCommand, defineOptions } from "../command.ts";
import { logOptions } from "../shared-options.ts";

/** `pratique hub`. */
export const hubCommand: Command = defineCommand({
  name: "hub",
  summary: "Run a hub: a Kubernetes API with its own CA and store, ready for machines to join",
  details: [
    "Everything the hub keeps lies in its data directory. The first start makes a CA and what machines need to join; each start writes admin.kubeconfig there, which has every right and is readable by its owner only.",
    "On SIGINT or SIGTERM the hub finishes its requests and closes the store; a second signal ends the process at once.",
  ],
  options: [
    ...defineOptions({
      "--data-dir DIR = ./pratique-data": "where the store, the CA and the admin kubeconfig lie",
      "--quota-backend-bytes BYTES = 0":
        "the maximum size of the store, in bytes of objects with their history; beyond it the hub rejects writes with 507, but not deletions, Leases and revocations. 0: 2 GiB, or an eighth of the memory that the hub may use beyond 128 MiB if that is less, and at least 16 MiB",
      "--revocations-from FILE":
        "a list of revocations that this hub has signed (pratique revocations export), or revocation lists of X.509 by its CA, to add before the port opens: after a restore, those that the backup does not know",
      "--bind-address IP = 127.0.0.1": "the address to listen on; 0.0.0.0 or :: for all",
      "--secure-port PORT = 6443": "the port to listen on; 0 picks a free one",
      "--tls-san NAME...":
        "a further name or address for the serving certificate; may be given several times. The first is announced where the hub listens on all addresses",
      "--authorization-mode MODES...": {
        choices: ["Node", "RBAC", "ABAC", "Webhook", "AlwaysAllow", "AlwaysDeny"],
        description: "who decides whether a request may be served, in order; default Node,RBAC",
      },
      "--authorization-policy-file FILE": "the policies of mode ABAC, one JSON object on each line",
      "--authorization-webhook-config-file FILE": "the service that mode Webhook asks, in the format of kubeconfig",
      "--authorization-webhook-version VERSION = v1beta1": {
        choices: ["v1", "v1beta1"],
        description: "which SubjectAccessReview that service speaks",
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
      "--oidc-client-id ID": "whom tokens of that issuer must be meant for",
      "--oidc-username-claim CLAIM = sub": "the claim that is the name of the user",
      "--oidc-username-prefix PREFIX":
        "stands before the name; default the issuer and #, nothing where the claim is email; - for nothing",
      "--oidc-groups-claim CLAIM": "the claim that holds the groups of the user",
      "--oidc-groups-prefix PREFIX":
        "stands before each group, such as oidc:, so that no outside user can name a group of the hub's own",
      "--oidc-required-claim CLAIM=VALUE...":
        "a claim that tokens must hold, with its value; may be given several times",
      "--oidc-ca-file FILE":
        "the CAs that the issuer's server may have its certificate from; default those of the system",
      "--oidc-signing-algs ALGS... = RS256": {
        choices: ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512"],
        description: "the signature algorithms that tokens of that issuer may have",
      },
      "--authentication-token-webhook-config-file FILE":
        "a service, in the format of kubeconfig, that authenticates tokens which no other authenticator knows",
      "--authentication-token-webhook-version VERSION = v1beta1": {
        choices: ["v1", "v1beta1"],
        description: "which TokenReview that service speaks",
      },
      "--authentication-token-webhook-cache-ttl DURATION = 2m": "how long TokenReview results are cached",
      "--cluster-signing-cert-file FILE":
        "the certificate of a CA of your own, with its key in --cluster-signing-key-file",
      "--cluster-signing-key-file FILE": "the private key of that CA",
      "--cluster-signing-duration DURATION = 8760h":
        "the longest life of a certificate that the hub signs, 10m or more",
      "--service-account-issuer ISSUER... = https://kubernetes.default.svc":
        "who tokens of ServiceAccounts are from; of several, the first one is in new tokens and all are accepted",
      "--service-account-signing-key-file FILE":
        "the private key that signs new tokens; without it the hub makes one of its own, pki/sa.key",
      "--service-account-key-file FILE...":
        "further keys whose tokens are accepted, public or private, in PEM; may be given several times, for changing the key that signs",
      "--api-audiences NAMES...": "the names of this API, for one of which a token must be meant; default the issuers",
      "--service-account-max-token-expiration DURATION = 0": "the longest life of a token, from 1h; 0 sets no bound",
      "--service-account-extend-token-expiration = true":
        "let tokens of pods hold a year where a kubelet asks for the usual hour",
      "--no-node-autoapprove":
        "leave out the binding kubeadm:node-autoapprove-bootstrap, so that a person approves each machine; counts at the first start only",
      "--node-autoapprove-names-in-use":
        "approve also a machine that joins, with another key, under the name of a node whose certificate is good: for fleets that set machines up again under their old names; any holder of a token can then take the name of any node",
      "--serving-approval PROVIDERS...": {
        choices: ["inventory", "networks", "source-address", "dns"],
        description:
          "approve serving certificates of kubelets whose names these prove: the ConfigMap kube-system/pratique-node-inventory, networks of a file, the address the request came from, DNS beside one of the others; default none, which leaves them to people",
      },
      "--serving-approval-config FILE":
        "a ServingApproval (pratique.dev/v1alpha1): networks of nodes, an inventory in CSV, further names of the API",
      "--managed-clusters":
        "let clusters join as managed clusters: hub and spoke registration as in Open Cluster Management",
      "--registration-config FILE":
        "a ClusterRegistration (pratique.dev/v1alpha1): which identities join which clusters without a person; with --managed-clusters",
      "--audit-policy-file FILE":
        "a Policy (audit.k8s.io/v1) that says what is recorded; default every request, without bodies; of a log that no flag asks for, without health checks and the like",
      "--enable-admission-plugins NAMES...":
        "admission plugins to run besides those that run anyway, e.g. OwnerReferencesPermissionEnforcement",
      "--disable-admission-plugins NAMES...": "admission plugins not to run, e.g. ServiceAccount",
      "--audit-log-path FILE": {
        empty: "allowed",
        description:
          "append audit events to this file, one line of JSON each; - for stdout, none for no log (default audit/audit.log in the data directory)",
      },
      "--audit-log-format FORMAT = json": { choices: ["json"], description: "how events look there" },
      "--audit-log-maxsize MB = 100": "put that file aside when it is this large, in megabytes; 0 never does",
      "--audit-log-maxbackup N = 10": "how many such files are kept; 0 keeps all",
      "--audit-log-maxage DAYS = 30": "how many days they are kept; 0 keeps them for ever",
      "--audit-webhook-config-file FILE": "a service, in the format of kubeconfig, that audit events are sent to",
      "--audit-webhook-batch-max-size N = 400": "how many events it is sent at once",
      "--audit-webhook-batch-max-wait DURATION = 30s": "how long an event waits for others",
      "--audit-webhook-initial-backoff DURATION = 10s":
        "how long to wait before events that it did not take are sent again; longer each time",
      "--kubelet-preferred-address-types TYPES... = InternalIP,ExternalIP,Hostname":
        "the types of a Node's addresses at which its kubelet is asked, best first",
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
